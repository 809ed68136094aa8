#include <gtest/gtest.h>

#include "doors/parasol/row/parasol_dialect.h"
#include "node/kept_streams.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::parasol {
namespace {

TEST(KeptStderr, OnlyThatOfJobsThatAreOverIsRemoved) {
  os::TempDir dir;
  node::KeptStreams kept{.dir = dir.path(), .name = KeptName, .is_name = IsKeptName};
  for (const char* name : {"para1.err", "para2.err", "para.err", "parax.err", "para3.error",
                           "para-4.err", "xpara5.err", "para6x.err"}) {
    dir.Write(name, "text");
  }
  ASSERT_TRUE(os::MakeSymlink(dir.Path("xpara5.err"), dir.Path("para7.err")));
  ASSERT_TRUE(os::MakeDir(dir.Path("para8.err")));
  Instant now = os::Clock().Now();
  // Nothing is older than that.
  node::RemoveOldKept(kept, now - Duration::Seconds(3600), {});
  EXPECT_TRUE(os::Exists(dir.Path("para1.err")));
  node::RemoveOldKept(kept, now + Duration::Seconds(3600), {"para2.err"});
  std::vector<std::string> left;
  auto entries = os::ListDir(dir.path()).value();
  for (const os::DirEntry& entry : entries) left.push_back(entry.name);
  EXPECT_EQ(left, (std::vector<std::string>{"para-4.err", "para.err", "para2.err", "para3.error",
                                            "para6x.err", "para7.err", "para8.err", "parax.err",
                                            "xpara5.err"}));
  kept.dir = dir.Path("none");
  node::RemoveOldKept(kept, now, {});
}

}  // namespace
}  // namespace spate::parasol
