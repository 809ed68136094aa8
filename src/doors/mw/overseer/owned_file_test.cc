#include "doors/mw/overseer/owned_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::mw {
namespace {

constexpr uint32_t kSomebody = 12'345;

std::string Good() {
  return WriteResourceFile({.slaves_needed = 3, .executable = "/srv/app/ping"});
}

class OwnedFileTest : public testing::Test {
 protected:
  void Write(const std::string& text) { ASSERT_TRUE(os::WriteFile(path_, text, 0644)); }
  ErrorKind KindOf(const std::string& text) {
    Write(text);
    auto file = ReadOwnedResourceFile(path_);
    return file ? ErrorKind::kIo : file.error().kind;
  }
  os::TempDir dir_;
  const std::string path_ = os::JoinPath(dir_.path(), "search.rsc");
};

TEST_F(OwnedFileTest, ReadsWhatIsSound) {
  Write(Good());
  auto file = ReadOwnedResourceFile(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->slaves_needed, 3);
}

TEST_F(OwnedFileTest, TellsWhatIsWrong) {
  EXPECT_EQ(ReadOwnedResourceFile(path_).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(Good().substr(0, Good().size() / 2)), ErrorKind::kInvalid);
  EXPECT_EQ(KindOf(Good() + std::string(kResourceFileBytesMax, ' ')), ErrorKind::kInvalid);
  EXPECT_EQ(KindOf("(:slaves-needed 3)"), ErrorKind::kInvalid);
  EXPECT_EQ(KindOf(WriteResourceFile({.executable = "ping"})), ErrorKind::kInvalid);
}

// A finished computation needs no program.
TEST_F(OwnedFileTest, AFinishedFileNamesNone) {
  Write("(:computation-status :finished)");
  EXPECT_TRUE(ReadOwnedResourceFile(path_));
}

TEST_F(OwnedFileTest, ObeysNobodyElse) {
  Write(Good());
  ASSERT_TRUE(os::SetPermissions(path_, 0646));
  EXPECT_EQ(ReadOwnedResourceFile(path_).error().kind, ErrorKind::kPermission);
  ASSERT_TRUE(os::SetPermissions(path_, 0644));
  EXPECT_EQ(ReadOwnedResourceFile(dir_.path()).error().kind, ErrorKind::kPermission);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(path_.c_str(), kSomebody, kSomebody), 0);
  auto file = ReadOwnedResourceFile(path_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kPermission);
  EXPECT_NE(file.error().message.find("belongs to user 12345"), std::string::npos);
}

// Nobody waits for a pipe.
TEST_F(OwnedFileTest, APipeIsNoFile) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(ReadOwnedResourceFile(path_).error().kind, ErrorKind::kPermission);
}

}  // namespace
}  // namespace spate::mw
