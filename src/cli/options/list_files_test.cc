#include "cli/options/list_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
    auto ok = CheckListFiles(std::vector{file}, folder_ + ":/nowhere");
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
  EXPECT_EQ(Check("echo hello"),
            "echo hello: no such job list; to run a command, write -- before it: spate run -- echo "
            "hello ...");
  ::chmod(File("mytool").c_str(), 0755);
  EXPECT_NE(Check("mytool").find("spate run -- mytool"), std::string::npos);
  EXPECT_NE(Check("a\x1b[0m").find("a\\x1b[0m"), std::string::npos);
}

TEST_F(ListFilesTest, Unreadable) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  std::string file = File("secret");
  ::chmod(file.c_str(), 0);
  EXPECT_EQ(Check(file), file + ": cannot read the file: Permission denied; check its permissions");
}

}  // namespace
}  // namespace spate::cli
