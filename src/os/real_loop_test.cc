#include "os/real_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "os/loop_descriptor.h"
#include "os/testing_watches.h"

namespace spate::os {
namespace {

class RealLoopTest : public ::testing::Test {
 protected:
  RealLoopTest() : loop_(std::move(RealLoop::Create().value())) {}
  // Ends the test's wait with a failure when something never comes.
  void Guard() {
    loop_->At(loop_->Now() + Duration::Seconds(20), [this] {
      ADD_FAILURE() << "the awaited call did not come";
      loop_->Stop();
    });
  }
  std::unique_ptr<RealLoop> loop_;
};

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(fd, O_CLOEXEC), 0); }
  ~Pipe() {
    close(fd[0]);
    if (fd[1] >= 0) close(fd[1]);
  }
  int fd[2];
};

TEST_F(RealLoopTest, PostsRunInOrderAndStopKeepsTheRest) {
  std::string order;
  loop_->Post([&] { order += 'a'; });
  loop_->Post([&] {
    order += 'b';
    loop_->Post([&] {
      order += 'd';
      loop_->Stop();
    });
    loop_->Stop();
  });
  loop_->Post([&] { order += 'c'; });
  loop_->Run();
  EXPECT_EQ(order, "ab");
  loop_->Run();
  EXPECT_EQ(order, "abcd");
}

TEST_F(RealLoopTest, StopBeforeRunIsNotForgotten) {
  loop_->Stop();
  loop_->Run();
  int calls = 0;
  loop_->Post([&] {
    ++calls;
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

TEST_F(RealLoopTest, PostsFromManyThreadsAllArriveInOrderOfEach) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 5000;
  std::vector<int> next(kThreads, 0);
  int left = kThreads * kPosts;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPosts; ++i) {
        loop_->Post([&, t, i] {
          EXPECT_EQ(next[t]++, i);
          if (--left == 0) loop_->Stop();
        });
      }
    });
  }
  Guard();
  loop_->Run();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(left, 0);
}

TEST_F(RealLoopTest, TimersComeInOrderAndNotEarly) {
  std::vector<int> order;
  Instant start = loop_->Now();
  auto at = [&](int ms) {
    return loop_->At(start + Duration::Millis(ms), [&, ms] {
      EXPECT_GE(loop_->Now(), start + Duration::Millis(ms));
      order.push_back(ms);
      if (ms == 12) loop_->Stop();
    });
  };
  at(12);
  at(3);
  TimerId cancelled = at(5);
  at(-1);
  loop_->At(Instant::Never(), [&] { ADD_FAILURE(); });
  loop_->Cancel(cancelled);
  Guard();
  loop_->Run();
  EXPECT_EQ(order, (std::vector<int>{-1, 3, 12}));
}

TEST_F(RealLoopTest, TimerThatAddsDueTimersDoesNotStarvePosts) {
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds == 1) loop_->Post([&] { loop_->Stop(); });
    loop_->At(loop_->Now(), again);
  };
  loop_->At(loop_->Now(), again);
  Guard();
  loop_->Run();
  EXPECT_GE(rounds, 1);
}

TEST_F(RealLoopTest, WatchReadIsLevel) {
  Pipe pipe;
  ASSERT_EQ(write(pipe.fd[1], "abc", 3), 3);
  std::string got;
  loop_->WatchRead(pipe.fd[0], [&] {
    char c;
    ssize_t n = read(pipe.fd[0], &c, 1);  // one byte of several: it must be called again
    if (n == 0) {
      loop_->Unwatch(pipe.fd[0]);
      loop_->Stop();
      return;
    }
    got += c;
    if (got == "abc") {
      ASSERT_EQ(write(pipe.fd[1], "d", 1), 1);
    } else if (got == "abcd") {
      close(pipe.fd[1]);  // the end of file is readiness too
      pipe.fd[1] = -1;
    }
  });
  Guard();
  loop_->Run();
  EXPECT_EQ(got, "abcd");
}

TEST_F(RealLoopTest, UnwatchedIsNotCalledAndMayBeWatchedAgain) {
  Pipe pipe;
  ASSERT_EQ(write(pipe.fd[1], "x", 1), 1);
  int first = 0;
  int second = 0;
  loop_->WatchRead(pipe.fd[0], [&] {
    ++first;
    loop_->Unwatch(pipe.fd[0]);
    loop_->WatchRead(pipe.fd[0], [&] {
      if (++second == 3) loop_->Stop();
    });
  });
  Guard();
  loop_->Run();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 3);
  // Unwatched before the loop looks: not called although ready.
  loop_->Post([&] {
    loop_->Unwatch(pipe.fd[0]);
    loop_->At(loop_->Now() + Duration::Millis(2), [&] { loop_->Stop(); });
  });
  loop_->Run();
  EXPECT_EQ(second, 3);
  loop_->Unwatch(12345);
}

TEST_F(RealLoopTest, ClosedAndReusedDescriptorNumberIsWatchedAnew) {
  int number = -1;
  {
    Pipe pipe;
    number = pipe.fd[0];
    loop_->WatchRead(pipe.fd[0], [&] { ADD_FAILURE(); });
    loop_->Unwatch(pipe.fd[0]);
  }
  Pipe pipe;
  ASSERT_EQ(pipe.fd[0], number);
  ASSERT_EQ(write(pipe.fd[1], "x", 1), 1);
  loop_->WatchRead(pipe.fd[0], [&] { loop_->Stop(); });
  Guard();
  loop_->Run();
  loop_->Unwatch(pipe.fd[0]);
}

TEST_F(RealLoopTest, ReadingCanBeLeftForAWhile) {
  int fd[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
  ASSERT_EQ(write(fd[1], "x", 1), 1);
  bool left = true;
  int writable = 0;
  loop_->WatchRead(fd[0], [&] { ADD_FAILURE(); });
  loop_->UnwatchRead(fd[0]);
  loop_->WatchWrite(fd[0], [&] {
    if (++writable < 10) return;
    loop_->UnwatchWrite(fd[0]);
    loop_->WatchRead(fd[0], [&] {
      left = false;
      loop_->Stop();
    });
  });
  Guard();
  loop_->Run();
  EXPECT_EQ(writable, 10);
  EXPECT_FALSE(left);
  loop_->Unwatch(fd[0]);
  close(fd[0]);
  close(fd[1]);
}

TEST_F(RealLoopTest, WatchWriteAndReadOnOneSocket) {
  int fd[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
  // Filled up: not writable until the other side reads.
  std::string block(65536, 'x');
  size_t filled = 0;
  for (ssize_t n; (n = write(fd[0], block.data(), block.size())) > 0;) filled += n;
  bool readable = false;
  size_t drained = 0;
  int writable = 0;
  loop_->WatchWrite(fd[0], [&] {
    ++writable;
    EXPECT_GT(drained, 0u);
    loop_->UnwatchWrite(fd[0]);
    ASSERT_EQ(write(fd[1], "y", 1), 1);
  });
  loop_->WatchRead(fd[0], [&] {
    readable = true;
    loop_->Stop();
  });
  loop_->At(loop_->Now() + Duration::Millis(2), [&] {
    EXPECT_EQ(writable, 0);
    while (drained < filled) {
      ssize_t n = read(fd[1], block.data(), block.size());
      ASSERT_GT(n, 0);
      drained += n;
    }
  });
  Guard();
  loop_->Run();
  EXPECT_TRUE(readable);
  EXPECT_EQ(writable, 1);
  loop_->Unwatch(fd[0]);
  close(fd[0]);
  close(fd[1]);
}

TEST_F(RealLoopTest, RegularFilesAreAlwaysReady) {
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  int calls = 0;
  loop_->WatchRead(fd, [&] {
    if (++calls == 3) loop_->Stop();
  });
  Guard();
  loop_->Run();
  EXPECT_EQ(calls, 3);
  loop_->Unwatch(fd);
  close(fd);
}

TEST_F(RealLoopTest, EndsWhenTheMachineWatchesNoFurtherDescriptors) {
  Pipe pipe;
  auto watch = [&] {
    room_to_watch = 0;
    loop_->WatchRead(pipe.fd[0], [] {});
  };
  EXPECT_EXIT(watch(), testing::ExitedWithCode(3),
              "^spate: this user has reached the limit of watched descriptors; raise "
              "fs.epoll.max_user_watches");
  EXPECT_EQ(room_to_watch, -1);
}

TEST(RoomToWatch, IsSixteenDescriptorsAtLeast) {
  EXPECT_TRUE(CheckRoomToWatch());
  room_to_watch = 16;
  EXPECT_TRUE(CheckRoomToWatch());
  room_to_watch = 15;
  auto checked = CheckRoomToWatch();
  room_to_watch = -1;
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(CheckRoomToWatch());
}

TEST_F(RealLoopTest, SignalsComeOnTheLoopUntilRemoved) {
  int calls = 0;
  for (int signo : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD}) {
    loop_->OnSignal(signo, [&] {
      if (++calls == 7) loop_->Stop();
    });
  }
  loop_->Post([] {
    for (int signo : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD}) {
      raise(signo);
    }
  });
  Guard();
  loop_->Run();
  EXPECT_EQ(calls, 7);
  struct sigaction action{};
  sigaction(SIGHUP, nullptr, &action);
  EXPECT_NE(action.sa_handler, SIG_DFL);
  loop_->OnSignal(SIGHUP, nullptr);
  sigaction(SIGHUP, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST_F(RealLoopTest, SignalFunctionMayReplaceItself) {
  std::string order;
  loop_->OnSignal(SIGHUP, [&] {
    order += 'a';
    loop_->OnSignal(SIGHUP, [&] {
      order += 'b';
      loop_->Stop();
    });
    raise(SIGHUP);
  });
  loop_->Post([] { raise(SIGHUP); });
  Guard();
  loop_->Run();
  EXPECT_EQ(order, "ab");
}

TEST(Clock, TranslatesMonotonicTimes) {
  Clock clock;
  int64_t mono = MonotonicNanos();
  Instant now = clock.Now();
  EXPECT_LE(clock.FromMonotonic(mono), now);
  EXPECT_EQ(clock.ToMonotonic(clock.FromMonotonic(mono)), mono);
}

TEST(Clock, HasNotLeftTheWallClock) {
  Clock clock;
  const Clock::Drift drift = clock.MeasureDrift();
  EXPECT_LT(std::abs(drift.set.ns), Duration::Millis(100).ns);
  EXPECT_LT(std::abs(drift.suspended.ns), Duration::Millis(100).ns);
  EXPECT_LT(std::abs((WallNow() - clock.Now()).ns), Duration::Seconds(1).ns);
}

// Nobody sets the clock here; the loop goes on, and tells nothing.
TEST_F(RealLoopTest, WatchesTheClock) {
  int steps = 0;
  loop_->OnClockStep([&](const ClockStep&) { ++steps; });
  loop_->At(loop_->Now() + Duration::Millis(20), [&] { loop_->Stop(); });
  Guard();
  loop_->Run();
  EXPECT_EQ(steps, 0);
  EXPECT_LT(std::abs((WallNow() - loop_->Wall()).ns), Duration::Seconds(1).ns);
}

// A program with a loop of its own waits for one descriptor.
class PolledLoopTest : public RealLoopTest {
 protected:
  PolledLoopTest() : fd_(loop_->Descriptor().value()) { Settle(); }
  bool Ready(int milliseconds) const {
    pollfd look{fd_, POLLIN, 0};
    return poll(&look, 1, milliseconds) == 1;
  }
  // Runs the loop whenever it is ready, until `done()`.
  template <typename Done>
  void RunUntil(Done done) {
    while (!done()) {
      ASSERT_TRUE(Ready(20'000)) << "the descriptor tells of nothing";
      loop_->RunReady();
    }
  }
  // Until there is nothing to do.
  void Settle() {
    while (Ready(0)) loop_->RunReady();
  }
  const int fd_;
};

TEST_F(PolledLoopTest, TellsOfPostsOfOtherThreads) {
  EXPECT_FALSE(Ready(0));
  int calls = 0;
  std::thread other([&] { loop_->Post([&] { ++calls; }); });
  RunUntil([&] { return calls == 1; });
  other.join();
  // A Stop leaves the rest, which is told again.
  loop_->Post([&] { loop_->Stop(); });
  loop_->Post([&] { ++calls; });
  RunUntil([&] { return calls == 2; });
  Settle();
}

TEST_F(PolledLoopTest, TellsOfTimers) {
  int calls = 0;
  loop_->At(loop_->Now() + Duration::Millis(20), [&] { ++calls; });
  loop_->At(loop_->Now() + Duration::Millis(5), [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  RunUntil([&] { return calls == 2; });
  Settle();
  loop_->At(loop_->Now() - Duration::Seconds(1), [&] { ++calls; });
  RunUntil([&] { return calls == 3; });
}

TEST_F(PolledLoopTest, TellsOfWatchedDescriptorsUntilUnwatch) {
  Pipe before, pipe;
  std::string got;
  auto take = [&](int fd) {
    char c = 0;
    if (read(fd, &c, 1) == 1) got += c;
  };
  loop_->WatchRead(pipe.fd[0], [&] { take(pipe.fd[0]); });
  Settle();
  EXPECT_FALSE(Ready(0));
  ASSERT_EQ(write(pipe.fd[1], "ab", 2), 2);
  RunUntil([&] { return got == "ab"; });
  Settle();
  bool writable = false;
  loop_->WatchWrite(before.fd[1], [&] {
    writable = true;
    loop_->UnwatchWrite(before.fd[1]);
  });
  RunUntil([&] { return writable; });
  loop_->Unwatch(pipe.fd[0]);
  Settle();
  ASSERT_EQ(write(pipe.fd[1], "c", 1), 1);
  EXPECT_FALSE(Ready(10)) << "nobody waits for it";
  EXPECT_EQ(got, "ab");
}

}  // namespace
}  // namespace spate::os
