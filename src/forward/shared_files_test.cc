#include "forward/shared_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "core/model/task_files.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::forward {
namespace {

using Names = std::set<std::string, std::less<>>;

class SharedFilesTest : public testing::Test {
 protected:
  std::string log() const { return temp_.Path("log"); }
  std::string path(const std::string& name) const { return temp_.Path(name); }
  std::string File(const std::string& name) const {
    return os::ReadFile(path(name), SIZE_MAX).value_or("nothing");
  }
  // Packs pairs of a file and the bytes for it.
  static OutputStream Pack(const std::vector<std::pair<std::string, std::string>>& pieces) {
    OutputStream pack;
    for (const auto& [to, bytes] : pieces) {
      AppendPackedFile(pack.bytes, {.name = "/" + to, .mode = 0, .size = bytes.size()});
      pack.bytes += bytes;
    }
    pack.total = pack.bytes.size();
    return pack;
  }
  SharedFiles Files(size_t most_open = 10) const {
    return SharedFiles(log(), temp_.path(), most_open);
  }
  // Messages of the recovery.
  std::vector<std::string> Recover(const Names& done, bool keep = false) const {
    std::vector<std::string> told;
    auto recovered = SharedFiles::Recover(
        log(), [&](std::string_view task) { return done.contains(task); },
        [&](std::string text) { told.push_back(std::move(text)); }, keep);
    EXPECT_TRUE(recovered);
    EXPECT_EQ(os::Exists(log()), keep);
    return told;
  }
  os::TempDir temp_;
};

TEST_F(SharedFilesTest, PiecesAreAppendedInTheirOrderAndFoldersMade) {
  SharedFiles files = Files(2);
  EXPECT_TRUE(files.Deliver("A", Pack({{"x/y/a", "1"}, {path("b"), "2"}, {"x/y/a", "3"}})));
  EXPECT_TRUE(files.Deliver("B", Pack({{"c", ""}, {"b", "4"}})));
  EXPECT_EQ(File("x/y/a"), "13");
  EXPECT_EQ(File("b"), "24");
  EXPECT_EQ(File("c"), "nothing");
  EXPECT_GT(files.hits(), 0u);
  files.Finish();
  EXPECT_FALSE(os::Exists(log()));
}

TEST_F(SharedFilesTest, ANamedPipeIsNoTargetAndHoldsNobody) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  SharedFiles files = Files();
  auto told = files.Deliver("A", Pack({{"a", "1"}, {"pipe", "2"}}));
  ASSERT_FALSE(told);
  EXPECT_NE(told.error().message.find("pipe': it is not a regular file"), std::string::npos);
  EXPECT_TRUE(files.Deliver("B", Pack({{"a", "3"}})));
  EXPECT_EQ(File("a"), "3");
}

TEST_F(SharedFilesTest, ADeviceIsWrittenTo) {
  SharedFiles files = Files();
  EXPECT_TRUE(files.Deliver("A", Pack({{"/dev/null", "1"}})));
  EXPECT_TRUE(files.Deliver("B", Pack({{"/dev/null", "1"}, {"a", "2"}, {"/dev/full", ""}})));
  EXPECT_EQ(File("a"), "2");
  // A device that takes nothing fails the task: the rest is taken back.
  EXPECT_FALSE(files.Deliver("C", Pack({{"a", "3"}, {"/dev/full", "4"}})));
  EXPECT_EQ(File("a"), "2");
  EXPECT_EQ(os::ReadFile(log(), 1000)->find("/dev"), std::string::npos);
}

// Files named by --get belong to another part.
TEST_F(SharedFilesTest, OtherFilesOfAPackAreLeftOut) {
  OutputStream pack = Pack({{"a", "forwarded"}});
  AppendPackedFile(pack.bytes, {.name = "b", .mode = 0644, .size = 3});
  pack.bytes += "got";
  pack.total = pack.bytes.size();
  EXPECT_TRUE(Files().Deliver("A", pack));
  EXPECT_EQ(File("a"), "forwarded");
  EXPECT_EQ(File("b"), "nothing");
}

TEST_F(SharedFilesTest, WhatOthersSendStaysBelowTheFolder) {
  SharedFiles files(log(), temp_.path(), 10, SharedFiles::Where::kBelow);
  EXPECT_TRUE(files.Deliver("A", Pack({{"below/a", "A"}})));
  EXPECT_FALSE(files.Deliver("B", Pack({{"below/b", "B"}, {path("c"), "B"}})));
  EXPECT_FALSE(files.Deliver("C", Pack({{"below/../../c", "C"}})));
  EXPECT_EQ(File("below/a"), "A");
  EXPECT_EQ(File("below/b"), "");
  EXPECT_EQ(File("c"), "nothing");
}

TEST_F(SharedFilesTest, ALongPackComesFromItsSpoolFile) {
  const std::string much(3'000'000, 'x');
  OutputStream pack = Pack({{"a", much}, {"b", "2"}});
  pack.spool = temp_.Write("spool", std::exchange(pack.bytes, {}));
  EXPECT_TRUE(Files().Deliver("A", pack));
  EXPECT_EQ(File("a"), much);
  EXPECT_EQ(File("b"), "2");
  // A spool file that was cut short is no pack: nothing of it stays.
  temp_.Write("spool", Pack({{"a", much}}).bytes.substr(0, 2'000'000));
  EXPECT_FALSE(Files().Deliver("B", pack));
  EXPECT_EQ(File("a"), much);
}

TEST_F(SharedFilesTest, TheNextStartCutsOffWhatIsNotDone) {
  temp_.Write("a", "before ");
  {
    SharedFiles files = Files();
    EXPECT_TRUE(files.Deliver("A", Pack({{"a", "A"}})));
    EXPECT_TRUE(files.Deliver("B", Pack({{"a", "B"}, {"b", "B"}})));
    EXPECT_TRUE(files.Deliver("C", Pack({{"a", "C"}})));
  }
  EXPECT_TRUE(Recover({"A"}).empty());
  EXPECT_EQ(File("a"), "before A");
  EXPECT_EQ(File("b"), "");
}

// To cut would lose what is done.
TEST_F(SharedFilesTest, WhatIsNotDoneStaysBeforeWhatIs) {
  {
    SharedFiles files = Files();
    EXPECT_TRUE(files.Deliver("A", Pack({{"a", "A"}})));
    EXPECT_TRUE(files.Deliver("B", Pack({{"a", "B"}})));
    EXPECT_TRUE(files.Deliver("C", Pack({{"a", "C"}})));
  }
  EXPECT_EQ(Recover({"B"}).size(), 1u);
  EXPECT_EQ(File("a"), "AB");
}

TEST_F(SharedFilesTest, TheLogMayRememberWhatIsDone) {
  {
    SharedFiles files = Files();
    for (const char* task : {"1.1", "1.2", "1.3"}) {
      EXPECT_TRUE(files.Deliver(task, Pack({{"a", task}})));
      if (task != std::string_view("1.3")) EXPECT_TRUE(files.MarkDone(task));
    }
  }
  EXPECT_TRUE(Recover({}, true).empty());
  EXPECT_EQ(File("a"), "1.11.2");
  EXPECT_EQ(SharedFiles::Done(log()).value_or(Names()), (Names{"1.1", "1.2"}));
  EXPECT_TRUE(Recover({}, true).empty());
  EXPECT_EQ(File("a"), "1.11.2");
}

TEST_F(SharedFilesTest, WhatWasNotEvenBegunIsNoTrouble) {
  temp_.Write("log", "0 5 A " + path("a") + "\n3 9 B " + path("a") + "\n7 1 tor");
  EXPECT_TRUE(Recover({}).empty());
  EXPECT_EQ(File("a"), "nothing");
}

TEST_F(SharedFilesTest, AFileThatWasChangedIsLeftAlone) {
  EXPECT_TRUE(Files().Deliver("A", Pack({{"a", "AAAA"}})));
  temp_.Write("a", "longer than it was");
  EXPECT_EQ(Recover({}).size(), 1u);
  EXPECT_EQ(File("a"), "longer than it was");
}

// The first piece fits, the second one does not: then neither stays, and the log knows.
TEST_F(SharedFilesTest, ATaskWhosePiecesCannotAllBeWrittenHasNone) {
  {
    SharedFiles files = Files();
    EXPECT_TRUE(files.Deliver("A", Pack({{"a", "A"}})));
    EXPECT_FALSE(files.Deliver("B", Pack({{"a", "B"}, {"/dev/full", "B"}})));
    EXPECT_EQ(File("a"), "A");
    EXPECT_TRUE(files.Deliver("C", Pack({{"a", "C"}})));
  }
  EXPECT_TRUE(Recover({"A", "C"}).empty());
  EXPECT_EQ(File("a"), "AC");
}

}  // namespace
}  // namespace spate::forward
