#include "node/forwarder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <functional>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::node {
namespace {

// Remembers orders; the test is the task.
class NoExecutor final : public Executor {
 public:
  void OpenJob(JobId, std::shared_ptr<const JobSettings>, bool) override {}
  void CloseJob(JobId) override {}
  void Start(StartOrder order) override { orders.push_back(std::move(order)); }
  void TakeBack(const AttemptRef&) override {}
  void End(const AttemptRef&, EndHow, Cause) override {}
  void Pause(bool) override {}
  void Freeze(const AttemptRef&, bool) override {}
  void Taken(const AttemptRef&) override {}
  std::deque<StartOrder> orders;
};

class Ends final : public ExecutorEvents {
 public:
  void OnStarted(const AttemptRef&, Instant) override {}
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override {
    ends.emplace_back(std::move(end), std::move(output));
  }
  void OnTakenBack(const AttemptRef&) override { ++taken_back; }
  void OnOutput(const AttemptRef&, int, std::string_view) override {}
  void OnMemory(const AttemptRef&, uint64_t) override {}
  std::vector<std::pair<AttemptEnd, TaskOutputPtr>> ends;
  int taken_back = 0;
};

class ForwarderTest : public testing::Test {
 protected:
  void SetUp() override {
    loop_ = std::move(*os::RealLoop::Create());
    forwarder_ = std::make_unique<Forwarder>(*loop_, executor_, temp_.path(), /*file_bytes=*/100);
    forwarder_->SetEvents(ends_);
    auto settings = std::make_shared<JobSettings>();
    settings->cwd = work_.path();
    forwarder_->OpenJob(JobId(1), std::move(settings), false);
  }
  const StartOrder& Start(std::vector<TaskForward> forwards, TaskIndex index = 0) {
    StartOrder order;
    order.ref = {JobId(1), index, Attempt(1)};
    order.body.steps = {{{{{"true"}}}}};
    order.body.forwards = std::move(forwards);
    forwarder_->Start(std::move(order));
    return executor_.orders.back();
  }
  // As the task does it, while the loop looks on.
  void Write(const std::string& path, const std::string& bytes) {
    int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(fd, 0) << path;
    size_t written = 0;
    std::function<void()> more = [&] {
      ssize_t size = write(fd, bytes.data() + written, bytes.size() - written);
      if (size > 0) written += static_cast<size_t>(size);
      if (written == bytes.size()) return loop_->Stop();
      loop_->Post(more);
    };
    loop_->Post(more);
    loop_->Run();
    close(fd);
  }
  void End(TaskIndex index, Cause cause) {
    AttemptEnd end;
    end.ref = {JobId(1), index, Attempt(1)};
    end.cause = cause;
    forwarder_->OnEnded(std::move(end), nullptr);
  }
  std::vector<std::string> Came(size_t count) {
    const TaskOutputPtr& output = ends_.ends.back().second;
    auto parts = output ? ReadForwards(output->files, count)
                        : Result<std::vector<std::string>>(Fail(ErrorKind::kNotFound, "nothing"));
    return parts ? *parts : std::vector<std::string>{parts.error().message};
  }
  // Files that we made.
  size_t Left() const { return os::ListDir(temp_.path())->size(); }

  os::TempDir temp_, work_;
  std::unique_ptr<os::RealLoop> loop_;
  NoExecutor executor_;
  Ends ends_;
  std::unique_ptr<Forwarder> forwarder_;
};

TEST_F(ForwarderTest, WhatTasksWriteComesWithTheirSuccess) {
  const StartOrder& order = Start({{"A", ""}, {"", "s"}, {"B", ""}});
  ASSERT_EQ(order.body.links.size(), 2u);
  EXPECT_EQ(order.body.links[0].writers.front().descriptor, 3);
  EXPECT_EQ(order.body.links[1].writers.front().descriptor, 4);
  EXPECT_EQ(order.body.environment, (std::vector<std::string>{"A=3", "B=4"}));
  std::string b(3 << 20, 'b');  // more than stays in memory
  Write(order.body.links[0].path, "one ");
  Write(order.body.links[1].path, b);
  Write(order.body.links[0].path, "two");
  work_.Write("s", "in a file");
  End(0, Cause::kSuccess);
  EXPECT_EQ(Came(3), (std::vector<std::string>{"one two", "in a file", b}));
  EXPECT_FALSE(os::Exists(work_.Path("s")));
  ends_.ends.clear();
  EXPECT_EQ(Left(), 0u);
}

TEST_F(ForwarderTest, OfAFailureNothingComesAndNothingStays) {
  const StartOrder& order = Start({{"A", ""}, {"", "s"}});
  Write(order.body.links[0].path, "one");
  work_.Write("s", "in a file");
  End(0, Cause::kExit);
  EXPECT_EQ(ends_.ends.back().second, nullptr);
  EXPECT_FALSE(os::Exists(work_.Path("s")));
  EXPECT_EQ(Left(), 0u);
}

TEST_F(ForwarderTest, FilesThatCannotBeForwardedFailTheTask) {
  Start({{"", "none"}});
  End(0, Cause::kSuccess);
  EXPECT_EQ(Came(1), std::vector<std::string>{""});
  Start({{"", "large"}}, 1);
  work_.Write("large", std::string(101, 'x'));
  End(1, Cause::kSuccess);
  EXPECT_EQ(ends_.ends.back().first.cause, Cause::kCheck);
  EXPECT_NE(ends_.ends.back().first.note.find("large is too large"), std::string::npos);
  Start({{"", "folder"}}, 2);
  ASSERT_TRUE(os::MakeDir(work_.Path("folder")));
  End(2, Cause::kSuccess);
  EXPECT_NE(ends_.ends.back().first.note.find("folder is not a file"), std::string::npos);
}

TEST_F(ForwarderTest, WhatWasTakenBackLeavesNothing) {
  Start({{"A", ""}, {"", "s"}});
  work_.Write("s", "another task's");
  forwarder_->OnTakenBack({JobId(1), 0, Attempt(1)});
  EXPECT_EQ(ends_.taken_back, 1);
  EXPECT_EQ(Left(), 0u);
  EXPECT_TRUE(os::Exists(work_.Path("s")));
}

TEST_F(ForwarderTest, ItsOwnEndLeavesNothing) {
  Start({{"A", ""}});
  forwarder_.reset();
  EXPECT_EQ(Left(), 0u);
}

TEST(ReadForwards, WhatIsNotWholeIsRefused) {
  OutputStream stream;
  using namespace std::literals;
  for (std::string bytes : {""s, "1234567"s, "\5\0\0\0\0\0\0\0abc"s, "\1\0\0\0\0\0\0\0ab"s}) {
    stream.bytes = bytes;
    EXPECT_FALSE(ReadForwards(stream, 1)) << bytes.size();
  }
  stream.bytes = "\1\0\0\0\0\0\0\0a"s;
  EXPECT_TRUE(ReadForwards(stream, 1));
}

}  // namespace
}  // namespace spate::node
