// Programs and files that all tasks of a job need.
#include "plan/shared_needs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "os/file.h"
#include "os/temp_dir.h"
#include "plan/slots_file.h"

namespace spate::run {
namespace {

class SharedNeedsTest : public testing::Test {
 protected:
  SharedNeedsTest() : here_(client::Surroundings::Find().value()) { settings_.cwd = dir_.path(); }
  std::string Put(const std::string& name, const std::string& text, uint32_t mode = 0600) {
    const std::string path = dir_.Path(name);
    EXPECT_TRUE(os::WriteFileAtomically(path, text, mode));
    return path;
  }
  static std::string TextOf(const Status& status) { return status ? "" : status.error().message; }
  static bool Begins(const std::string& text, const std::string& part) {
    return text.substr(0, part.size()) == part;
  }

  os::TempDir dir_;
  const client::Surroundings here_;
  JobSettings settings_;
};

TEST_F(SharedNeedsTest, AShellIsFoundAsTasksFindIt) {
  Put("mysh", "#!/bin/sh\n", 0700);
  Put("noexec", "#!/bin/sh\n", 0600);
  struct Case {
    const char* shell;
    bool found;
  };
  for (const Case& each : {Case{"/bin/sh", true},
                           {"/bin/sh -e", true},
                           {"./mysh", true},  // in the tasks' folder
                           {"mysh", false},
                           {"./noexec", false},
                           {"/no/such", false}}) {
    settings_.shell = each.shell;
    const std::string text = TextOf(CheckShell(here_, settings_, TasksRun::kHere));
    EXPECT_EQ(text.empty(), each.found) << each.shell << ": " << text;
    EXPECT_EQ(Begins(text, "--shell: '"), !each.found) << text;
  }
}

TEST_F(SharedNeedsTest, APathOfTheTasksCounts) {
  Put("mysh", "#!/bin/sh\n", 0700);
  settings_.shell = "mysh";
  settings_.environment = {"PATH=/bin:" + dir_.path()};
  EXPECT_EQ(TextOf(CheckShell(here_, settings_, TasksRun::kHere)), "");
}

TEST_F(SharedNeedsTest, NodesMayHaveAnotherShell) {
  settings_.shell = "/no/such -x";
  const std::string text = TextOf(CheckShell(here_, settings_, TasksRun::kOnNodes));
  EXPECT_NE(text.find("write --shell 'env /no/such -x'"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing was submitted"), std::string::npos) << text;
}

TEST_F(SharedNeedsTest, TheSameInputOfAllTasksMustBeReadable) {
  Put("in", "some\n");
  struct Case {
    const char* input;
    const char* why;
  };
  for (const Case& each : {Case{"in", ""},
                           {"", ""},
                           {"none", "--stdin: "},
                           {".", "--stdin: '.' is a folder"},
                           {"in.{#}", ""}}) {  // each task has its own
    settings_.stdin_pattern = each.input;
    const std::string text = TextOf(CheckStdin(settings_, TasksRun::kHere));
    EXPECT_TRUE(Begins(text, each.why)) << text;
    EXPECT_EQ(text.empty(), std::string(each.why).empty()) << text;
  }
}

TEST_F(SharedNeedsTest, NothingIsKnownOfAFolderThatOnlyNodesHave) {
  settings_.stdin_pattern = "none";
  EXPECT_NE(TextOf(CheckStdin(settings_, TasksRun::kOnNodes)).find("COMMAND < FILE"),
            std::string::npos);
  settings_.cwd = "/no/such/folder";
  EXPECT_EQ(TextOf(CheckStdin(settings_, TasksRun::kOnNodes)), "");
  EXPECT_NE(TextOf(CheckStdin(settings_, TasksRun::kHere)), "");
}

TEST_F(SharedNeedsTest, PiecesOfAnInputAreOurs) {
  settings_.stdin_pattern = "none";
  settings_.row_kind = RowKind::kInput;
  EXPECT_EQ(TextOf(CheckStdin(settings_, TasksRun::kHere)), "");
}

TEST_F(SharedNeedsTest, TheBeginningOfARegularFile) {
  EXPECT_EQ(ReadBeginning(Put("short", "text\n")), "text\n");
  EXPECT_EQ(ReadBeginning(Put("long", std::string(100'000, 'x'))).size(), 16u * 1024);
  EXPECT_EQ(ReadBeginning(dir_.Path("none")), "");
  EXPECT_EQ(ReadBeginning(dir_.path()), "");
}

TEST_F(SharedNeedsTest, MissingFilesByTheirPlace) {
  const std::string there = Put("there", "");
  EXPECT_EQ(MissingOf({}), std::vector<size_t>());
  EXPECT_EQ(MissingOf({there, dir_.Path("a"), there, dir_.Path("b")}), (std::vector<size_t>{1, 3}));
}

// ---- -j FILE -----------------------------------------------------------------------------------

TEST_F(SharedNeedsTest, TheNumberOfSlotsIsTheFirstWordOfItsFile) {
  cli::RunOptions options;
  EXPECT_TRUE(ReadSlotsFile(options, dir_.path(), 8));  // there is no such option
  options.slots_file = "slots";
  EXPECT_TRUE(Begins(TextOf(ReadSlotsFile(options, dir_.path(), 8)), "-j: "));
  Put("slots", " 3\nmore\n");
  ASSERT_TRUE(ReadSlotsFile(options, dir_.path(), 8));
  EXPECT_EQ(options.policy.max_running, 3u);
  Put("slots", "50%\n");
  ASSERT_TRUE(ReadSlotsFile(options, dir_.path(), 8));
  EXPECT_EQ(options.policy.max_running, 4u);
  Put("slots", "many\n");
  EXPECT_TRUE(Begins(TextOf(ReadSlotsFile(options, dir_.path(), 8)), "-j slots: "));
}

TEST_F(SharedNeedsTest, AChangedFileOfSlotsIsSeen) {
  auto loop = os::RealLoop::Create().value();
  Put("slots", "3\n");
  std::vector<std::string> seen;
  SlotsFile file(*loop, dir_.Path("slots"), [&](const Result<cli::SlotRule>& rule) {
    seen.push_back(rule ? std::to_string(cli::SlotCount(*rule, 8)) : "wrong");
    if (seen.size() == 1) {
      Put("slots", "");  // an editor has emptied it for a moment
      loop->At(loop->Now() + Duration::Millis(600), [this] { Put("slots", "many\n"); });
    } else {
      loop->Stop();
    }
  });
  Put("slots", "5\n");
  auto guard = loop->At(loop->Now() + Duration::Seconds(30), [&] { loop->Stop(); });
  loop->Run();
  loop->Cancel(guard);
  EXPECT_EQ(seen, (std::vector<std::string>{"5", "wrong"}));
}

}  // namespace
}  // namespace spate::run
