// A list that is written while it is read.
#include "run/list_follower.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/temp_dir.h"

namespace spate::run {
namespace {

using Rows = std::vector<std::string>;

class ListFollowerTest : public testing::Test {
 protected:
  ListFollowerTest() : loop_(os::RealLoop::Create().value()), list_(dir_.Path("jobs.lst")) {
    sink_.add = [this](Rows rows, const std::vector<Needs>& needs) {
      for (std::string& row : rows) rows_.push_back(std::move(row));
      for (const Needs& each : needs) cpus_.push_back(each.milli_cpus);
      Look();
    };
    sink_.end = [this] {
      ended_ = true;
      Look();
    };
    sink_.wrong = [this](const Error& error) {
      wrong_ = error.message;
      Look();
    };
    sink_.check = [](const std::string&, std::string_view) { return Status(); };
    sink_.why_script = [](const std::string&, std::string_view) { return std::string(); };
    sink_.why_never = [](const Needs& needs) {
      return std::string(needs.milli_cpus > 4000 ? "it needs too many cpus" : "");
    };
    sink_.full = [this] { return full_; };
    context_.run_input_checks = false;
  }
  void Write(const std::string& text, os::OpenHow how = os::OpenHow::kAppend) {
    auto file = os::OpenWrite(list_, how, 0600).value();
    ASSERT_TRUE(os::WriteAll(file.get(), text, list_));
  }
  void Follow(std::string until = "", Rows files = {}) {
    if (files.empty()) files = {list_};
    follower_ = std::make_unique<ListFollower>(*loop_, std::move(files), std::move(until), Needs(),
                                               context_, sink_);
  }
  // Runs the loop until that is so.
  void RunUntil(std::function<bool()> done) {
    done_ = std::move(done);
    bool late = false;
    auto guard = loop_->At(loop_->Now() + Duration::Seconds(30), [&] {
      late = true;
      loop_->Stop();
    });
    if (!done_()) loop_->Run();
    loop_->Cancel(guard);
    EXPECT_FALSE(late);
  }
  void Look() {
    if (done_ && done_()) loop_->Stop();
  }
  auto Has(size_t rows) {
    return [this, rows] { return rows_.size() == rows; };
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_;
  const std::string list_;
  ListFollower::Sink sink_;
  cli::LoadContext context_;
  std::function<bool()> done_;
  Rows rows_;
  std::vector<uint32_t> cpus_;
  bool ended_ = false, full_ = false;
  std::optional<std::string> wrong_;
  std::unique_ptr<ListFollower> follower_;
};

TEST_F(ListFollowerTest, TakesEachLineWhenItIsWritten) {
  Write("echo a\n");
  Follow("END");
  RunUntil(Has(1));
  Write("{use cpu 2} echo b\n# no task\necho");
  RunUntil(Has(2));
  Write(" c\nEND\necho d\n");
  RunUntil([this] { return ended_; });
  EXPECT_EQ(rows_, (Rows{"echo a", "{use cpu 2} echo b", "echo c"}));
  EXPECT_EQ(cpus_, (std::vector<uint32_t>{1000, 2000, 1000}));
}

TEST_F(ListFollowerTest, APipeEndsWithItsWriters) {
  auto pipe = os::MakePipe().value();
  context_.stdin_fd = pipe.read.get();
  Follow("", {"-"});
  ASSERT_TRUE(os::WriteAll(pipe.write.get(), "echo a\necho b", "the pipe"));
  RunUntil(Has(1));
  EXPECT_FALSE(ended_);
  pipe.write.Reset();
  RunUntil([this] { return ended_; });
  EXPECT_EQ(rows_, (Rows{"echo a", "echo b"}));  // the last line without its newline
}

TEST_F(ListFollowerTest, FilesFollowEachOther) {
  Write("echo a\nEND\n");
  const std::string next = dir_.Path("next.lst");
  ASSERT_TRUE(os::WriteFileAtomically(next, "echo b\nEND\n", 0600));
  Follow("END", {list_, next});
  RunUntil([this] { return ended_; });
  EXPECT_EQ(rows_, (Rows{"echo a", "echo b"}));
}

TEST_F(ListFollowerTest, TheFirstWrongLineEndsIt) {
  struct Case {
    std::string line, why;
  };
  for (const Case& each : {Case{"{use cpu 9} echo", "it needs too many cpus"},
                           {"{use cpu x} echo", "{use cpu"},
                           {"{after a} echo", "{after} in a list that is followed"}}) {
    wrong_.reset();
    rows_.clear();
    Write("echo a\n" + each.line + "\necho c\n", os::OpenHow::kTruncate);
    Follow("END");
    RunUntil([this] { return wrong_.has_value(); });
    EXPECT_NE(wrong_->find(":2: "), std::string::npos) << *wrong_;
    EXPECT_NE(wrong_->find(each.why), std::string::npos) << *wrong_;
    EXPECT_EQ(rows_, Rows{"echo a"});
    EXPECT_FALSE(ended_);
  }
}

TEST_F(ListFollowerTest, AListThatIsNotThereIsWrong) {
  Follow();
  ASSERT_TRUE(wrong_);
  EXPECT_NE(wrong_->find("jobs.lst"), std::string::npos) << *wrong_;
}

TEST_F(ListFollowerTest, AListMustOnlyGrow) {
  using Change = std::function<void()>;
  const std::string other = dir_.Path("other");
  const std::pair<const char*, Change> changes[] = {
      {"truncated", [&] { Write("", os::OpenHow::kTruncate); }},
      {"removed", [&] { ASSERT_TRUE(os::RemoveFile(list_)); }},
      {"replaced",
       [&] {
         ASSERT_TRUE(os::WriteFileAtomically(other, "echo a\n", 0600));
         ASSERT_TRUE(os::Rename(other, list_));
       }},
  };
  for (const auto& [what, change] : changes) {
    wrong_.reset();
    rows_.clear();
    Write("echo a\n", os::OpenHow::kTruncate);
    Follow("END");
    RunUntil(Has(1));
    change();
    RunUntil([this] { return wrong_.has_value(); });
    EXPECT_NE(wrong_->find(std::string("the list was ") + what), std::string::npos) << *wrong_;
  }
}

TEST_F(ListFollowerTest, WaitsWhileTheStoreIsFull) {
  full_ = true;
  Write("echo a\nEND\n");
  Follow("END");
  loop_->At(loop_->Now() + Duration::Millis(60), [this] {
    EXPECT_TRUE(rows_.empty());
    full_ = false;
  });
  RunUntil([this] { return ended_; });
  EXPECT_EQ(rows_, Rows{"echo a"});
}

TEST_F(ListFollowerTest, AScriptIsNoList) {
  sink_.check = [](const std::string& file, std::string_view beginning) -> Status {
    if (!beginning.starts_with("#!")) return {};
    return Fail(ErrorKind::kInvalid, file + " is a script");
  };
  Write("#!/bin/sh\necho a\n");
  Follow("END");
  RunUntil([this] { return wrong_.has_value(); });
  EXPECT_EQ(*wrong_, list_ + " is a script");
  EXPECT_TRUE(rows_.empty());
}

}  // namespace
}  // namespace spate::run
