#include "cli/options/list_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/options/job_words.h"

namespace spate::cli {
namespace {

class ListFilesTest : public testing::Test {
 protected:
  ListFilesTest() {
    std::string name = testing::TempDir() + "spate-list-files-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ListFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name) {
    std::ofstream(folder_ + "/" + name) << "true\n";
    return folder_ + "/" + name;
  }
  std::string Check(const std::string& file) {
    auto ok = CheckListFiles(std::vector{file});
    return ok ? "" : ok.error().message;
  }
  std::string CheckWords(const Command& command, std::vector<std::string> argv) {
    auto ok = CheckDashes(command, argv, folder_ + ":/nowhere");
    return ok ? "" : ok.error().message;
  }
  std::string folder_;
};

TEST_F(ListFilesTest, GoodOnesPass) {
  EXPECT_EQ(Check(File("jobs.lst")), "");
  EXPECT_EQ(Check("-"), "");
  EXPECT_EQ(Check("/dev/null"), "");
  std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(Check(fifo), "");
}

TEST_F(ListFilesTest, NamesTheFix) {
  EXPECT_NE(Check(folder_).find("is a folder"), std::string::npos);
  EXPECT_NE(Check("nosuch.lst").find("no such file"), std::string::npos);
  EXPECT_NE(Check("a\x1b[0m").find("a\\x1b[0m"), std::string::npos);
}

TEST_F(ListFilesTest, ACommandNeedsDashes) {
  ::chmod(File("mytool").c_str(), 0755);
  const std::string begin = "mytool: no such file; to run a command, write -- before it: spate ";
  EXPECT_EQ(CheckWords(kRunWords, {"mytool", "-9", "{}", ":::", "a b"}),
            begin + "run -- mytool -9 '{}' ::: 'a b'");
  EXPECT_EQ(CheckWords(kRunWords, {"-j", "4", "-k", "mytool", "-c"}),
            begin + "run -j 4 -k -- mytool -c");
  EXPECT_EQ(CheckWords(kSubmitWords, {"--name=x", "mytool", "hi"}),
            begin + "submit --name=x -- mytool hi");
  EXPECT_EQ(CheckWords(kAddWords, {"12", "mytool"}), begin + "job add 12 -- mytool");
  EXPECT_EQ(CheckWords(kSubmitWords, {"echo hello"}),
            "echo hello: no such file; to run a command, write -- before it: spate submit -- 'echo "
            "hello'");
  // Options' values, lists, and what comes after its dashes.
  EXPECT_EQ(CheckWords(kRunWords, {"--name", "mytool", "--", "true"}), "");
  EXPECT_EQ(CheckWords(kRunWords, {"--name", "mytool", "jobs.lst"}), "");
  EXPECT_EQ(CheckWords(kRunWords, {"--", "mytool", "-9"}), "");
  EXPECT_EQ(CheckWords(kRunWords, {File("echo it"), "--frob"}), "");
  EXPECT_EQ(CheckWords(kRunWords, {"-"}), "");
  EXPECT_EQ(CheckWords(kRunWords, {}), "");
  EXPECT_EQ(CheckWords(kAddWords, {"12"}), "");
}

TEST_F(ListFilesTest, Unreadable) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  std::string file = File("secret");
  ::chmod(file.c_str(), 0);
  EXPECT_EQ(Check(file), file + ": cannot read the file: Permission denied; check its permissions");
}

}  // namespace
}  // namespace spate::cli
