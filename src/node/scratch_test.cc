#include "node/scratch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::node {
namespace {

Instant Now() { return os::Clock().Now(); }

TEST(Scratch, FoldersOfNodesThatAreGoneAreRemoved) {
  os::TempDir tmp;
  auto make = [&](const std::string& name, bool marked) {
    ASSERT_TRUE(os::MakeDir(tmp.Path(name), 0700));
    ASSERT_TRUE(os::WriteFileAtomically(tmp.Path(name + "/para1.err"), "x", 0600));
    if (marked) ASSERT_TRUE(MarkScratch(tmp.Path(name)));
  };
  make("spate-stderr-0123456789ab", true);
  make("spate-0123456789ab", true);
  make("spate-aaaaaaaaaaaa", false);  // of an earlier release
  make("spate-stderr-0123", true);    // of somebody else
  make("spate-0123456789aX", true);
  SweepScratch(tmp.path(), Now() - Duration::Seconds(60));
  EXPECT_EQ(os::ListDir(tmp.path())->size(), 5u) << "their nodes are there";
  SweepScratch(tmp.path(), Now() + Duration::Seconds(60));
  EXPECT_FALSE(os::Exists(tmp.Path("spate-stderr-0123456789ab")));
  EXPECT_FALSE(os::Exists(tmp.Path("spate-0123456789ab")));
  EXPECT_EQ(os::ListDir(tmp.path())->size(), 3u);
}

TEST(Scratch, AnUnusedFolderGoesWithItsNode) {
  os::TempDir tmp;
  std::string folder = tmp.Path("spate-stderr-0123456789ab");
  EXPECT_TRUE(MarkScratch(folder)) << "it is not there: nothing to do";
  EXPECT_FALSE(os::Exists(folder));
  ASSERT_TRUE(os::MakeDir(folder, 0700));
  ASSERT_TRUE(MarkScratch(folder));
  tmp.Write("spate-stderr-0123456789ab/para1.err", "x");
  RemoveIfUnused(folder);
  EXPECT_TRUE(os::Exists(folder));
  ASSERT_TRUE(os::RemoveFile(folder + "/para1.err"));
  RemoveIfUnused(folder);
  EXPECT_FALSE(os::Exists(folder));
}

}  // namespace
}  // namespace spate::node
