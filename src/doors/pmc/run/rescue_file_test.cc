#include "doors/pmc/run/rescue_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::pmc {
namespace {

class RescueFileTest : public testing::Test {
 protected:
  RescueFile Found() const { return *RescueFile::Find(path_); }
  std::string Text(const std::string& path) const {
    return os::ReadFile(path, SIZE_MAX).value_or("nothing");
  }
  void Put(const std::string& path, std::string_view text, uint32_t permissions = 0644) {
    ASSERT_TRUE(os::WriteFile(path, text));
    ASSERT_TRUE(os::SetPermissions(path, permissions));
  }
  void Append(std::string_view text) {
    auto file = Found().Open();
    ASSERT_TRUE(file);
    ASSERT_TRUE(os::WriteAll(file->get(), text, path_));
  }

  os::TempDir temp_;
  std::string path_ = temp_.Path("d.rescue");
};

TEST_F(RescueFileTest, AMissingFileIsMade) {
  EXPECT_EQ(Found().Read().value(), "");
  ASSERT_TRUE(Found().Rewrite("", 0));
  EXPECT_FALSE(os::Exists(path_));
  Append("\nDONE A");
  EXPECT_EQ(Text(path_), "\nDONE A");
}

TEST_F(RescueFileTest, ARewrittenFileKeepsPermissionsOwnerAndGroup) {
  Put(path_, "\nDONE A\nDON", 0660);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(path_.c_str(), 12345, 12346), 0);
  }
  ASSERT_TRUE(Found().Rewrite("\nDONE A", 8));
  EXPECT_EQ(Text(path_), "\nDONE A");
  auto info = os::Stat(path_);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->permissions, 0660u);
  if (is_root) {
    EXPECT_EQ(info->user, 12345u);
    EXPECT_EQ(info->group, 12346u);
  }
}

TEST_F(RescueFileTest, ALinkStaysALink) {
  const std::string target = temp_.Path("target");
  ASSERT_TRUE(os::MakeSymlink("target", path_));
  Append("\nDONE A\nDON");  // a dangling one
  EXPECT_EQ(Found().Read().value(), "\nDONE A\nDON");
  ASSERT_TRUE(Found().Rewrite("\nDONE A", 8));
  Append("\nDONE B");
  EXPECT_EQ(os::StatLink(path_)->kind, os::FileKind::kSymlink);
  EXPECT_EQ(Text(target), "\nDONE A\nDONE B");
  ASSERT_TRUE(Found().Empty(path_ + ".old"));
  EXPECT_EQ(Text(target), "");
  EXPECT_EQ(Text(path_ + ".old"), "\nDONE A\nDONE B");
  EXPECT_EQ(os::StatLink(path_)->kind, os::FileKind::kSymlink);
}

TEST_F(RescueFileTest, TheTextThatIsKeptHasTheSamePermissions) {
  Put(path_, "\nDONE A", 0600);
  ASSERT_TRUE(Found().Empty(path_ + ".old"));
  EXPECT_EQ(os::Stat(path_ + ".old")->permissions, 0600u);
}

TEST_F(RescueFileTest, ADeviceOrAPipeIsOnlyWrittenTo) {
  path_ = "/dev/null";
  EXPECT_FALSE(Found().is_regular());
  EXPECT_EQ(Found().Read().value(), "");
  Append("\nDONE A");
  path_ = temp_.Path("pipe");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(Found().is_regular());
  EXPECT_EQ(Found().Read().value(), "");  // nobody writes, and nobody waits
  ASSERT_TRUE(Found().Rewrite("", 0));
  ASSERT_TRUE(Found().Empty(path_ + ".old"));
  EXPECT_EQ(os::StatLink(path_)->kind, os::FileKind::kPipe);
  EXPECT_FALSE(os::Exists(path_ + ".old"));
}

TEST_F(RescueFileTest, InAFolderThatTakesNoFileTheTornEndIsCutOff) {
  constexpr uid_t kNobody = 65534;
  Put(path_, "\nDONE A\n# a remark\nDON", 0666);
  ASSERT_TRUE(os::SetPermissions(temp_.path(), 0555));
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(kNobody), 0);  // root may write to every folder
  }
  auto done = Found().Rewrite("\nDONE A", 19);
  ASSERT_EQ(seteuid(user), 0);
  ASSERT_TRUE(os::SetPermissions(temp_.path(), 0700));
  EXPECT_TRUE(done);
  EXPECT_EQ(Text(path_), "\nDONE A\n# a remark\n");
}

}  // namespace
}  // namespace spate::pmc
