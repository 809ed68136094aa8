#include "shepherd/task_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "core/model/limits.h"
#include "core/model/task_files.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::shepherd {
namespace {

const AttemptRef kRef{JobId(3), 4, Attempt(2)};

// Begun, with its folder made below the one of the test.
class Folder : public ::testing::Test {
 protected:
  Folder() {
    EXPECT_TRUE(os::MakeDir(dir_.Path("tasks"), 0700));
    EXPECT_TRUE(os::MakeDir(dir_.Path("spool")));
    folder_.Begin(dir_.Path("tasks"), kRef);
  }
  ~Folder() override { EXPECT_EQ(chdir("/"), 0); }

  std::string Enter(const std::vector<StartView::PutView>& puts = {}) {
    std::string why = folder_.Make(owner_, puts);
    if (why.empty()) why = folder_.Enter(puts);
    files_.Entered(folder_.path());
    return why;
  }
  std::string Here(const std::string& name) { return dir_.Path("tasks/3.5-2/" + name); }
  // "NAME BYTES" of each file of the pack.
  std::vector<std::string> Packed() {
    StreamView view = pack_.view();
    std::string pack(view.bytes);
    if (!view.spool.empty()) {
      pack = os::ReadFile(std::string(view.spool), 100u << 20).value_or("");
    }
    EXPECT_EQ(pack.size(), view.total);
    std::vector<std::string> files;
    PackReader reader({.begin = [&](const PackedFile& file) -> Status {
                         files.push_back(file.name + " ");
                         return {};
                       },
                       .bytes = [&](std::string_view bytes) -> Status {
                         files.back() += bytes;
                         return {};
                       },
                       .end = []() -> Status { return {}; }});
    EXPECT_TRUE(reader.Feed(pack));
    EXPECT_TRUE(reader.whole());
    return files;
  }

  std::string PutIntoPack(const std::string& spool) {
    pack_.Begin(dir_.Path(spool), kRef);
    std::string why = folder_.PutInto(pack_);
    if (!why.empty()) pack_.Drop();
    return why;
  }

  os::TempDir dir_;
  TaskFolder folder_;
  UserFiles files_;
  Pack pack_;
  std::optional<TaskUser> owner_;
};

TEST_F(Folder, IsMadeFilledAndRemoved) {
  std::string from = dir_.Write("content", std::string("a\0b", 3));
  EXPECT_EQ(Enter({{"in/a b", 0754, from.c_str()}, {"c", 0400, from.c_str()}}), "");
  EXPECT_EQ(os::CurrentDir().value_or(""), dir_.Path("tasks/3.5-2"));
  EXPECT_EQ(os::ReadFile("in/a b", 10).value_or(""), std::string("a\0b", 3));
  struct stat info{};
  ASSERT_EQ(stat("in/a b", &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0754u);
  ASSERT_EQ(stat(".", &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  folder_.Remove();
  EXPECT_FALSE(os::Exists(Here("")));
  EXPECT_FALSE(folder_.exists());
}

// The shepherd's next attempt waits for a few of them only; the node removes the others.
TEST_F(Folder, OfManyFilesSomeAreLeftForTheNode) {
  EXPECT_EQ(Enter(), "");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(os::WriteFileAtomically(Here(std::to_string(i)), "", 0600));
  }
  folder_.Remove();
  EXPECT_FALSE(folder_.exists());
  auto left = os::ListDir(Here(""));
  ASSERT_TRUE(left.has_value()) << "it took its time";
  EXPECT_LT(left->size(), 1000u);
}

TEST_F(Folder, WhatIsThereAlreadyIsNotUsed) {
  ASSERT_TRUE(os::MakeDir(Here("")));
  EXPECT_NE(Enter().find("cannot make the task's folder"), std::string::npos);
  folder_.Remove();
  EXPECT_TRUE(os::Exists(Here("")));
}

// The folder of such folders was cleaned away, and somebody has made it anew.
TEST_F(Folder, IsMadeOnlyWhereNobodyElseMayWrite) {
  ASSERT_TRUE(os::SetPermissions(dir_.Path("tasks"), 01777));
  EXPECT_NE(Enter().find("others may write into"), std::string::npos);
  ASSERT_TRUE(os::RemoveTree(dir_.Path("tasks")));
  ASSERT_TRUE(os::MakeDir(dir_.Path("elsewhere")));
  ASSERT_TRUE(os::MakeSymlink(dir_.Path("elsewhere"), dir_.Path("tasks")));
  EXPECT_NE(Enter().find("cannot make the task's folder"), std::string::npos);
  EXPECT_FALSE(folder_.exists());
  if (geteuid() != 0) return;
  ASSERT_TRUE(os::RemoveFile(dir_.Path("tasks")));
  ASSERT_TRUE(os::MakeDir(dir_.Path("tasks"), 0700));
  ASSERT_EQ(chown(dir_.Path("tasks").c_str(), 65534, 65534), 0);
  EXPECT_NE(Enter().find("others may write into"), std::string::npos);
}

TEST_F(Folder, IsItsUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  owner_ =
      TaskUser{.user = 65534, .group = 65533, .groups = {}, .name = {}, .home = {}, .shell = {}};
  ASSERT_EQ(Enter(), "");
  struct stat info{};
  ASSERT_EQ(stat(".", &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
  EXPECT_EQ(info.st_gid, 65533u);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  folder_.Remove();
  EXPECT_FALSE(os::Exists(Here("")));
}

TEST_F(Folder, AContentThatIsMissingIsNamed) {
  EXPECT_NE(Enter({{"in", 0600, "/nowhere"}}).find("'in'"), std::string::npos);
  EXPECT_FALSE(folder_.exists());
}

TEST_F(Folder, PacksWhatIsThereAndNamesTheRest) {
  ASSERT_EQ(Enter(), "");
  dir_.Write("tasks/3.5-2/out/x", "results\n");
  dir_.Write("tasks/3.5-2/empty", "");
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  ASSERT_EQ(truncate(dir_.Write("tasks/3.5-2/large", "").c_str(),
                     static_cast<off_t>(kLimits.file_bytes) + 1),
            0);
  EXPECT_EQ(folder_.OpenGets({"out/x", "none", "pipe", "large", "empty"}, files_),
            "--get: 'none' does not exist\n--get: 'pipe' is not a file\n--get: 'large' has 16 MB, "
            "more than the 16 MB that are brought home");
  EXPECT_EQ(PutIntoPack("spool"), "");
  EXPECT_EQ(pack_.view().spool, "");
  EXPECT_EQ(Packed(), (std::vector<std::string>{"out/x results\n", "empty "}));
}

TEST_F(Folder, ALongPackBecomesASpoolFile) {
  ASSERT_EQ(Enter(), "");
  std::string large(300'000, 'x');
  dir_.Write("tasks/3.5-2/large", large);
  dir_.Write("tasks/3.5-2/small", "s");
  EXPECT_EQ(folder_.OpenGets({"small", "large"}, files_), "");
  EXPECT_EQ(PutIntoPack("spool"), "");
  EXPECT_EQ(pack_.view().spool, dir_.Path("spool/3-4-2.files"));
  EXPECT_EQ(Packed(), (std::vector<std::string>{"small s", "large " + large}));
}

TEST_F(Folder, APackThatCannotBeKeptIsNone) {
  ASSERT_EQ(Enter(), "");
  dir_.Write("tasks/3.5-2/large", std::string(300'000, 'x'));
  EXPECT_EQ(folder_.OpenGets({"large"}, files_), "");
  EXPECT_NE(PutIntoPack("nowhere"), "");
  EXPECT_EQ(pack_.view().total, 0u);
}

TEST_F(Folder, TogetherTheyMayBeTooLarge) {
  ASSERT_EQ(Enter(), "");
  std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  std::vector<const char*> gets;
  for (const std::string& name : names) {
    ASSERT_EQ(truncate(dir_.Write("tasks/3.5-2/" + name, "").c_str(),
                       static_cast<off_t>(kLimits.file_bytes)),
              0);
    gets.push_back(name.c_str());
  }
  EXPECT_EQ(folder_.OpenGets(gets, files_),
            "--get: 'e' is more than the 64 MB that are brought home of one task");
}

}  // namespace
}  // namespace spate::shepherd
