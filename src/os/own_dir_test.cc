#include "os/own_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "os/account.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/regular_file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

constexpr uint32_t kNobody = 65534;

class OwnDir : public testing::Test {
 protected:
  std::string Make(const std::string& name, uint32_t mode, uint32_t owner = EffectiveUser()) {
    std::string path = dir_.Path(name);
    EXPECT_TRUE(MakeDirs(path));
    EXPECT_TRUE(SetPermissions(path, mode));
    if (owner != EffectiveUser()) EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
    return path;
  }
  static void ExpectUnsafe(const Status& status, std::string_view why) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kPermission);
    EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
  }

  TempDir dir_;
};

TEST_F(OwnDir, IsMadeClosed) {
  std::string path = dir_.Path("a/b");
  ASSERT_TRUE(MakeOwnDir(path));
  EXPECT_EQ(Stat(path)->permissions, 0700u);
  ASSERT_TRUE(MakeOwnDir(path)) << "again";
}

TEST_F(OwnDir, NobodyElseWrites) {
  EXPECT_TRUE(MakeOwnDir(Make("read", 0755)));
  ExpectUnsafe(MakeOwnDir(Make("read", 0755), Others::kMayPass), "chmod go-rw");
  EXPECT_TRUE(MakeOwnDir(Make("pass", 0711), Others::kMayPass));
  ExpectUnsafe(MakeOwnDir(Make("pass", 0711), Others::kStayOut), "chmod go-rwx");
  EXPECT_TRUE(MakeOwnDir(Make("closed", 0700), Others::kStayOut));
  ExpectUnsafe(MakeOwnDir(Make("write", 0777)), "chmod go-w");
  ExpectUnsafe(MakeOwnDir(Make("group", 0770)), "chmod go-w");
}

TEST_F(OwnDir, NobodyPutsAnotherInItsPlace) {
  std::string open = Make("open", 0777);
  ExpectUnsafe(MakeOwnDir(open + "/mine"), "may be changed");
  EXPECT_FALSE(Exists(open + "/mine")) << "it was made before anybody looked";
  EXPECT_TRUE(MakeOwnDir(Make("sticky", 01777) + "/mine"));
}

TEST_F(OwnDir, IsNoOtherUsers) {
  if (EffectiveUser() != 0) GTEST_SKIP() << "only root can be two users";
  std::string theirs = Make("theirs", 0755, kNobody);
  ExpectUnsafe(MakeOwnDir(theirs), "belongs to nobody");
  ExpectUnsafe(MakeOwnDir(theirs + "/below"), "belongs to nobody");
  EXPECT_FALSE(Exists(theirs + "/below"));
  // The target of a link is checked, not the link.
  ASSERT_TRUE(MakeSymlink(theirs, dir_.Path("link")));
  ExpectUnsafe(MakeOwnDir(dir_.Path("link")), "belongs to nobody");
}

TEST_F(OwnDir, LinksOfOthersAreNotFollowed) {
  std::string top = Make("top", 0755);
  std::string elsewhere = Make("elsewhere", 0755);
  ASSERT_TRUE(OpenDirBelow(top, "a/b"));
  EXPECT_TRUE(Exists(top + "/a/b"));
  ASSERT_TRUE(OpenDirBelow(top, ""));
  ASSERT_TRUE(MakeSymlink("../elsewhere", top + "/link"));
  auto own = OpenDirBelow(top, "link/below");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_TRUE(Exists(elsewhere + "/below"));
  if (EffectiveUser() != 0) GTEST_SKIP() << "only root can be two users";
  ASSERT_EQ(lchown((top + "/link").c_str(), kNobody, kNobody), 0);
  auto followed = OpenDirBelow(top, "link/again");
  ASSERT_FALSE(followed);
  EXPECT_NE(followed.error().message.find("is a link of nobody"), std::string::npos);
  EXPECT_FALSE(Exists(elsewhere + "/again"));
}

TEST_F(OwnDir, IsOpenedWhereItIsThere) {
  std::string own = Make("own", 0700);
  auto opened = OpenOwnDir(own);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(StatFd(opened->get(), own)->inode, Stat(own)->inode);
  EXPECT_EQ(OpenOwnDir(own + "/none").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(OpenOwnDir(Make("open", 0777)).error().kind, ErrorKind::kPermission);
}

// Names that a person gives, among the files of others.
TEST_F(OwnDir, NamedFilesAreOpenedOverOwnLinksOnly) {
  std::string top = Make("top", 0755);
  const OpenHow append = OpenHow::kAppend;
  EXPECT_EQ(OpenNamed(top + "/none/file", append).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(errno, ENOENT);
  ASSERT_TRUE(OpenNamed(top + "/made/file", append, Missing::kMake));
  ASSERT_TRUE(WriteFile(top + "/target", "as it was"));
  ASSERT_TRUE(MakeSymlink("target", top + "/link"));
  ASSERT_TRUE(MakeSymlink("made", top + "/folder"));
  for (const char* name : {"/link", "/folder/other", "/made/../made/./file"}) {
    auto opened = OpenNamed(top + name, append);
    EXPECT_TRUE(opened) << opened.error().message;
  }
  // A link that /proc shows has no path of its own.
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe);
  const std::string end = "/dev/fd/" + std::to_string(pipe->write.get());
  auto opened = OpenNamed(end, append);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(OpenRegularFile(end, RegularFor::kAppending).error().kind, ErrorKind::kInvalid);
  if (EffectiveUser() != 0) GTEST_SKIP() << "only root can be two users";
  for (const char* name : {"/link", "/folder"}) {
    ASSERT_EQ(lchown((top + name).c_str(), kNobody, kNobody), 0);
  }
  for (const char* name : {"/link", "/folder/other", "/folder/new/other"}) {
    for (OpenHow how : {append, OpenHow::kTruncate, OpenHow::kReadWrite}) {
      auto followed = OpenNamed(top + name, how, Missing::kMake);
      ASSERT_FALSE(followed) << name;
      EXPECT_EQ(errno, EACCES);
      EXPECT_NE(followed.error().message.find("is a link of nobody"), std::string::npos);
    }
    EXPECT_FALSE(OpenRegularFile(top + name, RegularFor::kWriting)) << name;
  }
  EXPECT_EQ(OpenRegularFile(top + "/link", RegularFor::kReading).error().kind,
            ErrorKind::kPermission);
  EXPECT_EQ(*ReadFile(top + "/target", 100), "as it was");
}

}  // namespace
}  // namespace spate::os
