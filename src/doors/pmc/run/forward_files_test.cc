#include "doors/pmc/run/forward_files.h"

#include <gtest/gtest.h>

#include <set>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::pmc {
namespace {

class ForwardFilesTest : public testing::Test {
 protected:
  std::string rescue() const { return temp_.Path("d.rescue"); }
  std::string path(const std::string& name) const { return temp_.Path(name); }
  std::string File(const std::string& name) const {
    return os::ReadFile(path(name), SIZE_MAX).value_or("nothing");
  }
  // What it had to say.
  std::vector<std::string> Recover(const std::set<std::string, std::less<>>& done) const {
    std::vector<std::string> told;
    auto recovered = ForwardFiles::Recover(
        rescue(), [&](std::string_view task) { return done.contains(task); },
        [&](std::string text) { told.push_back(std::move(text)); });
    EXPECT_TRUE(recovered);
    EXPECT_FALSE(os::Exists(ForwardFiles::LogOf(rescue())));
    return told;
  }
  os::TempDir temp_;
};

TEST_F(ForwardFilesTest, PiecesAreAppendedInTheirOrderAndFoldersMade) {
  ForwardFiles files(rescue(), 2);
  EXPECT_TRUE(files.Deliver("A", {{path("x/y/a"), "1"}, {path("b"), "2"}, {path("x/y/a"), "3"}}));
  EXPECT_TRUE(files.Deliver("B", {{path("c"), ""}, {path("b"), "4"}}));
  EXPECT_EQ(File("x/y/a"), "13");
  EXPECT_EQ(File("b"), "24");
  EXPECT_EQ(File("c"), "nothing");
  EXPECT_GT(files.hits(), 0u);
  files.Finish();
  EXPECT_FALSE(os::Exists(ForwardFiles::LogOf(rescue())));
}

TEST_F(ForwardFilesTest, TheNextStartCutsOffWhatIsNotDone) {
  temp_.Write("a", "before ");
  {
    ForwardFiles files(rescue(), 10);
    EXPECT_TRUE(files.Deliver("A", {{path("a"), "A"}}));
    EXPECT_TRUE(files.Deliver("B", {{path("a"), "B"}, {path("b"), "B"}}));
    EXPECT_TRUE(files.Deliver("C", {{path("a"), "C"}}));
  }
  EXPECT_TRUE(Recover({"A"}).empty());
  EXPECT_EQ(File("a"), "before A");
  EXPECT_EQ(File("b"), "");
}

TEST_F(ForwardFilesTest, WhatWasNotEvenBegunIsNoTrouble) {
  temp_.Write("d.rescue.forwards", "0 5 A " + path("a") + "\n3 9 B " + path("a") + "\n7 1 tor");
  EXPECT_TRUE(Recover({}).empty());
  EXPECT_EQ(File("a"), "nothing");
}

TEST_F(ForwardFilesTest, AFileThatWasChangedIsLeftAlone) {
  {
    ForwardFiles files(rescue(), 10);
    EXPECT_TRUE(files.Deliver("A", {{path("a"), "AAAA"}}));
  }
  temp_.Write("a", "longer than it was");
  EXPECT_EQ(Recover({}).size(), 1u);
  EXPECT_EQ(File("a"), "longer than it was");
}

// The first piece fits, the second one does not: then neither stays, and the log knows.
TEST_F(ForwardFilesTest, ATaskWhosePiecesCannotAllBeWrittenHasNone) {
  {
    ForwardFiles files(rescue(), 10);
    EXPECT_TRUE(files.Deliver("A", {{path("a"), "A"}}));
    EXPECT_FALSE(files.Deliver("B", {{path("a"), "B"}, {"/dev/full", "B"}}));
    EXPECT_EQ(File("a"), "A");
    EXPECT_TRUE(files.Deliver("C", {{path("a"), "C"}}));
  }
  EXPECT_TRUE(Recover({"A", "C"}).empty());
  EXPECT_EQ(File("a"), "AC");
}

}  // namespace
}  // namespace spate::pmc
