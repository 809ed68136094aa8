// A job that a feed tells of, shown over a pipe in the place of a terminal.
#include "run/job_feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/fd.h"
#include "os/signals.h"
#include "view/testing_view.h"

namespace spate::run {
namespace {

using Log = std::vector<std::string>;
using cli::Stream;

// Notes what it is told, and writes some of it.
class NotingView final : public cli::RunView {
 public:
  NotingView(cli::Screen& screen, Log& log, size_t at_end)
      : screen_(screen), log_(log), at_end_(at_end) {}
  void OnStart(const cli::RunStart& start) override {
    log_.push_back("start of job " + std::to_string(start.job.value));
    screen_.Write(Stream::kOut, "started\n");
  }
  void OnEnded(const cli::TaskEnded& ended) override {
    log_.push_back("task " + std::to_string(ended.end.ref.index + 1));
  }
  void OnLive(const AttemptRef&, int, std::string_view bytes) override {
    log_.push_back("live " + std::string(bytes));
  }
  void OnNews(const cli::News&, Instant) override { log_.push_back("news"); }
  void Tick(Instant, uint32_t running) override {
    log_.push_back("tick " + std::to_string(running));
  }
  void OnFinish(const cli::RunFinish& finish) override {
    log_.push_back("finish " + std::to_string(finish.counts.succeeded));
    screen_.Write(Stream::kOut, std::string(at_end_, 'x'));
  }

 private:
  cli::Screen& screen_;
  Log& log_;
  const size_t at_end_;
};

// Does what the test says, and stops the loop at the third tick.
class FakeFeed final : public JobFeed {
 public:
  explicit FakeFeed(os::RealLoop& of) : loop(of) {}
  Result<std::unique_ptr<cli::RunView>> MakeView(cli::Screen& screen) override {
    if (!can_be_seen) return Fail(ErrorKind::kIo, "no place for the results");
    return std::make_unique<NotingView>(screen, log, at_end);
  }
  cli::RunStart Start() override { return cli::StartOf(1); }
  Result<Followed> Follow(cli::RunView& view) override { return follow(view); }
  uint32_t Tick(uint64_t backlog) override {
    most_backlog = std::max(most_backlog, backlog);
    if (++ticks == 3) loop.Stop();
    return 2;
  }
  void OnUnwritable(const Error&, bool reader_gone) override {
    log.emplace_back(reader_gone ? "nobody reads" : "not writable");
    loop.Stop();
  }
  Result<int> Leave() override {
    log.emplace_back("leave");
    if (on_leave) on_leave();
    return 7;
  }

  os::RealLoop& loop;
  Log log;
  bool can_be_seen = true;
  size_t at_end = 0;  // bytes that the view writes last
  std::function<Result<Followed>(cli::RunView&)> follow = [](cli::RunView&) { return Ended(); };
  std::function<void()> on_leave;
  int ticks = 0;
  uint64_t most_backlog = 0;

  static Followed Ended(bool goes_on = false) {
    cli::RunFinish finish;
    finish.counts.succeeded = 1;
    return {finish, goes_on};
  }
};

class ShowJobTest : public testing::Test {
 protected:
  ShowJobTest()
      : loop_(os::RealLoop::Create().value()), pipe_(os::MakePipe().value()), feed_(*loop_) {
    os::IgnoreSignal(os::kSignalPipe);
  }
  Result<int> Show() {
    return ShowJob(*loop_, os::Environment(), feed_, {pipe_.write.get(), pipe_.write.get()});
  }

  std::unique_ptr<os::RealLoop> loop_;
  os::Pipe pipe_;
  FakeFeed feed_;
};

TEST_F(ShowJobTest, TheViewHearsOfTheJobInOrder) {
  feed_.follow = [](cli::RunView& view) {
    view.OnLive({}, 1, "some");
    const AttemptEnd end = cli::EndOf(0);
    view.OnEnded({end, engine::Verdict::kSucceeded, nullptr, cli::kTestStart});
    return FakeFeed::Ended();
  };
  EXPECT_EQ(Show().value(), 7);
  EXPECT_EQ(feed_.log, (Log{"start of job 12", "live some", "task 1", "finish 1", "leave"}));
}

TEST_F(ShowJobTest, TheBarHasItsClockWhileTheJobIsFollowed) {
  feed_.follow = [this](cli::RunView&) {
    loop_->Run();  // until the third tick
    return FakeFeed::Ended();
  };
  EXPECT_EQ(Show().value(), 7);
  EXPECT_EQ(feed_.log, (Log{"start of job 12", "tick 2", "tick 2", "tick 2", "finish 1", "leave"}));
}

TEST_F(ShowJobTest, AnErrorOfTheViewOrOfTheFeedEndsIt) {
  feed_.can_be_seen = false;
  EXPECT_EQ(Show().error().message, "no place for the results");
  EXPECT_EQ(feed_.log, Log());
  feed_.can_be_seen = true;
  feed_.follow = [](cli::RunView&) { return Fail(ErrorKind::kUnavailable, "the hub is lost"); };
  EXPECT_EQ(Show().error().message, "the hub is lost");
  EXPECT_EQ(feed_.log, Log{"start of job 12"});
}

constexpr size_t kMoreThanAPipeHolds = 300'000;

TEST_F(ShowJobTest, AllIsWrittenBeforeTheLastWords) {
  feed_.at_end = kMoreThanAPipeHolds;
  std::atomic<size_t> read = 0;
  std::thread reader;
  // It begins while the rest is written: signals and timers are seen meanwhile.
  feed_.follow = [&](cli::RunView&) {
    loop_->At(loop_->Now() + Duration::Millis(1), [&] {
      reader = std::thread([&] {
        std::string piece(4096, '\0');
        while (true) {
          auto size = os::ReadSome(pipe_.read.get(), piece.data(), piece.size(), "the pipe");
          if (!size || *size == 0) return;
          read += *size;
        }
      });
    });
    return FakeFeed::Ended();
  };
  // But for a pipe, and the piece that is read just now.
  feed_.on_leave = [&] { EXPECT_GT(read.load(), kMoreThanAPipeHolds - (80 << 10)); };
  EXPECT_EQ(Show().value(), 7);
  pipe_.write.Reset();
  reader.join();
  EXPECT_EQ(read.load(), kMoreThanAPipeHolds + std::string("started\n").size());
}

TEST_F(ShowJobTest, AReaderIsNotWaitedForByAJobThatGoesOn) {
  feed_.at_end = kMoreThanAPipeHolds;
  feed_.follow = [](cli::RunView&) { return FakeFeed::Ended(/*goes_on=*/true); };
  EXPECT_EQ(Show().value(), 7);  // though nobody reads
  EXPECT_EQ(feed_.log.back(), "leave");
}

TEST_F(ShowJobTest, TheFeedHearsWhenNobodyReads) {
  pipe_.read.Reset();
  feed_.follow = [this](cli::RunView&) {
    loop_->Run();
    return FakeFeed::Ended();
  };
  EXPECT_EQ(Show().value(), 7);
  EXPECT_EQ(std::ranges::count(feed_.log, "nobody reads"), 1);
}

TEST_F(ShowJobTest, TheFeedKnowsHowMuchWaitsForTheTerminal) {
  feed_.follow = [this](cli::RunView& view) {
    view.OnFinish({});  // writes
    loop_->Run();
    return FakeFeed::Ended(/*goes_on=*/true);
  };
  feed_.at_end = kMoreThanAPipeHolds;
  EXPECT_EQ(Show().value(), 7);
  EXPECT_GT(feed_.most_backlog, 0u);
}

}  // namespace
}  // namespace spate::run
