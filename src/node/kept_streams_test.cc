#include "node/kept_streams.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::node {
namespace {

KeptStreams KeptAt(const std::string& dir) {
  KeptStreams kept;
  kept.dir = dir;
  kept.name = [](JobId job, TaskIndex task) { return fmt::format("{}.{}.err", job.value, task); };
  kept.account = [](const std::string& user) -> Result<os::Account> {
    if (user != "ann") return Fail(ErrorKind::kNotFound, "no such user");
    return os::Account{"ann", os::EffectiveUser(), 0, "/home/ann", "/bin/sh"};
  };
  return kept;
}

TEST(KeptStreams, StderrIsReadWhenItIsTheUsersFile) {
  os::TempDir dir;
  KeptStreams kept = KeptAt(dir.path());
  std::string path = KeptPath(kept, JobId(2), 5);
  EXPECT_EQ(path, dir.Path("2.5.err"));
  EXPECT_EQ(*ReadKept(kept, "ann", JobId(2), 5, 100), "");
  ASSERT_TRUE(os::WriteFile(path, std::string("a\0b\n", 4)).has_value());
  EXPECT_EQ(*ReadKept(kept, "ann", JobId(2), 5, 100), std::string("a\0b\n", 4));
  EXPECT_EQ(*ReadKept(kept, "ann", JobId(2), 5, 1), "a");
  EXPECT_EQ(ReadKept(kept, "bob", JobId(2), 5, 100).error().kind, ErrorKind::kNotFound);

  auto others = kept.account;
  kept.account = [&](const std::string& user) {
    auto account = others(user);
    account->user += 1;
    return account;
  };
  EXPECT_EQ(ReadKept(kept, "ann", JobId(2), 5, 100).error().kind, ErrorKind::kPermission);
}

TEST(KeptStreams, AFolderOfItsOwnIsMadeWhenItIsNeeded) {
  os::TempDir dir;
  KeptStreams kept = KeptAt(dir.Path("own"));
  ASSERT_TRUE(MakeKeptDir(kept));
  EXPECT_FALSE(os::Exists(kept.dir)) << "it is another one's to make";
  kept.makes_dir = true;
  ASSERT_TRUE(MakeKeptDir(kept));
  auto info = os::Stat(kept.dir);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->permissions & 0777, os::EffectiveUser() == 0 ? 0777u : 0700u);
  EXPECT_TRUE(MakeKeptDir(kept)) << "it is there";
  kept.dir = "/";
  EXPECT_EQ(MakeKeptDir(kept).has_value(), os::EffectiveUser() == 0) << "it is root's";
}

TEST(KeptStreams, RootMakesRoomForStderr) {
  if (os::EffectiveUser() != 0) GTEST_SKIP() << "only root may";
  os::TempDir dir;
  KeptStreams kept = KeptAt(dir.path());
  std::string own = KeptPath(kept, JobId(2), 5);
  ASSERT_TRUE(os::WriteFile(own, "text"));
  MakeRoomForKept(kept, "ann", JobId(2), 5);
  EXPECT_TRUE(os::Exists(own)) << "it is hers";
  auto account = kept.account;
  kept.account = [account](const std::string& user) {
    auto found = account(user);
    if (found) found->user = 12345;
    return found;
  };
  ASSERT_TRUE(os::MakeSymlink(own, KeptPath(kept, JobId(2), 6)));
  MakeRoomForKept(kept, "ann", JobId(2), 6);
  EXPECT_FALSE(os::StatLink(KeptPath(kept, JobId(2), 6)));
  EXPECT_TRUE(os::Exists(own)) << "a link is removed, not what it leads to";
  MakeRoomForKept(kept, "nobody", JobId(2), 5);
  EXPECT_TRUE(os::Exists(own)) << "there is no such user";
  MakeRoomForKept(kept, "ann", JobId(2), 5);
  EXPECT_FALSE(os::Exists(own));
  MakeRoomForKept(kept, "ann", JobId(2), 5);
}

TEST(KeptStreams, StderrIsNeverReadThroughALink) {
  os::TempDir dir;
  KeptStreams kept = KeptAt(dir.path());
  ASSERT_TRUE(os::WriteFile(dir.Path("secret"), "s").has_value());
  ASSERT_TRUE(os::MakeSymlink(dir.Path("secret"), KeptPath(kept, JobId(1), 0)).has_value());
  EXPECT_FALSE(ReadKept(kept, "ann", JobId(1), 0, 100).has_value());
}

}  // namespace
}  // namespace spate::node
