#include "doors/parasol/programs/para_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::parasol {
namespace {

class ParaStateTest : public testing::Test {
 protected:
  // A folder of a batch, where para has written `batch`.
  std::string Batch(const std::string& name, const std::string& text) {
    std::string dir = dir_.Path(name);
    EXPECT_TRUE(os::MakeDirs(dir));
    EXPECT_TRUE(os::WriteFile(dir + "/batch", text));
    ParaState state = Find(name);
    EXPECT_TRUE(state.Make());
    EXPECT_TRUE(state.Remember(os::Stat(dir + "/batch").value()));
    return dir + "/para.results";
  }
  ParaState Find(const std::string& name, const std::string& results = "para.results") {
    return ParaState::Find(root_.path(), dir_.Path(name) + "/" + results);
  }
  static std::string Read(const std::string& path) {
    return os::ReadFile(path, 1 << 20).value_or("none");
  }
  std::vector<std::string> Files(const std::string& name) {
    std::vector<std::string> names;
    auto entries = os::ListDir(dir_.Path(name)).value();
    for (const os::DirEntry& entry : entries) names.push_back(entry.name);
    return names;
  }
  using Names = std::vector<std::string>;

  os::TempDir dir_, root_;
};

TEST_F(ParaStateTest, NothingLiesInTheFolder) {
  std::string results = Batch("a", "1");
  ParaState state = Find("a");
  EXPECT_EQ(state.name(), results);
  EXPECT_TRUE(state.Marks().starts_with(root_.path()));
  EXPECT_EQ(Files("a"), Names({"batch"}));
  EXPECT_NE(Find("b").Marks(), state.Marks());
  EXPECT_NE(Find("a", "other.results").Marks(), state.Marks());
}

TEST_F(ParaStateTest, ALookMakesNothing) {
  (void)Find("a");
  EXPECT_TRUE(os::ListDir(root_.path()).value().empty());
}

TEST_F(ParaStateTest, AMovedFolderIsFoundAgain) {
  std::string old = Batch("a", "1");
  ASSERT_TRUE(os::WriteFile(Find("a").Marks(), "known 3\n"));
  ASSERT_TRUE(os::Rename(dir_.Path("a"), dir_.Path("b")));
  EXPECT_EQ(Find("b").name(), old);
  EXPECT_EQ(Read(Find("b").Marks()), "known 3\n");  // before anything is written
  for (int i = 0; i < 2; ++i) {
    ParaState state = Find("b");
    ASSERT_TRUE(state.Make());
    EXPECT_EQ(state.name(), old);
    EXPECT_EQ(Read(state.Marks()), "known 3\n");
  }
  // And once more, after a push.
  ASSERT_TRUE(os::WriteFile(dir_.Path("b/batch"), "22"));
  ASSERT_TRUE(Find("b").Remember(os::Stat(dir_.Path("b/batch")).value()));
  ASSERT_TRUE(os::Rename(dir_.Path("b"), dir_.Path("c")));
  EXPECT_EQ(Find("c").name(), old);
}

TEST_F(ParaStateTest, ACopyIsAnotherBatch) {
  Batch("a", "1");
  ASSERT_TRUE(os::MakeDirs(dir_.Path("b")));
  ASSERT_EQ(std::system(("cp -p " + dir_.Path("a/batch") + " " + dir_.Path("b")).c_str()), 0);
  EXPECT_EQ(Find("b").name(), dir_.Path("b/para.results"));
}

TEST_F(ParaStateTest, ANewBatchHasTheNameOfTheOldPlace) {
  Batch("a", "1");
  ASSERT_TRUE(os::Rename(dir_.Path("a"), dir_.Path("b")));
  ASSERT_TRUE(Find("b").Make());
  std::string fresh = Batch("a", "22");
  EXPECT_EQ(Find("a").name(), fresh);
  EXPECT_EQ(Find("b").name(), fresh) << "until the new one is made";
  ASSERT_TRUE(Find("a").Claim());
  EXPECT_EQ(Find("b").name(), dir_.Path("b/para.results"));
}

TEST_F(ParaStateTest, ARootThatCannotBeMadeIsTold) {
  std::string file = root_.Write("file", "");
  ParaState state = ParaState::Find(file + "/para", dir_.Path("para.results"));
  auto made = state.Make();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find(file), std::string::npos);
}

}  // namespace
}  // namespace spate::parasol
