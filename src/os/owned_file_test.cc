#include "os/owned_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

TEST(OwnedFile, IsItsUsersAlone) {
  TempDir dir;
  const uint32_t user = geteuid() == 0 ? 65531 : geteuid();
  const std::string path = dir.Path("secret");
  for (std::string text : {"first", "second"}) {
    ASSERT_TRUE(WriteFileFor(user, path, text));
    auto info = StatLink(path);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->user, user);
    EXPECT_EQ(info->permissions, 0600u);
    EXPECT_EQ(ReadFile(path, 100).value_or(""), text);
  }
}

TEST(OwnedFile, TakesThePlaceOfALink) {
  TempDir dir;
  const std::string other = dir.Write("other", "of somebody");
  ASSERT_TRUE(MakeSymlink(other, dir.Path("secret")));
  ASSERT_TRUE(WriteFileFor(geteuid(), dir.Path("secret"), "text"));
  EXPECT_EQ(ReadFile(other, 100).value_or(""), "of somebody");
  EXPECT_EQ(StatLink(dir.Path("secret"))->kind, FileKind::kFile);
}

TEST(OwnedFile, OnlyRootMakesThemForOthers) {
  if (geteuid() == 0) GTEST_SKIP() << "root may";
  TempDir dir;
  EXPECT_FALSE(WriteFileFor(geteuid() + 1, dir.Path("secret"), "text"));
}

}  // namespace
}  // namespace spate::os
