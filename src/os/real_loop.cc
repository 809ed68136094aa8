// RealLoop over Boost.Asio: one io_context, run by one thread.
//
// - Post: a vector under a mutex; only the post that finds it empty wakes the context (Drain runs
//   the whole vector), so a burst costs one system call.
// - Timers: a TimerQueue of ours and one asio timer armed for its front. Cancelling leaves the
//   asio timer as it is: one needless wake-up costs less than setting it twice.
// - Watches: one stream_descriptor for each descriptor, with at most one wait pending for each
//   direction. A wait is asked for again after each call, which makes asio's edge-triggered epoll
//   look at the level. Watch objects are shared with their pending handlers and marked dead by
//   Unwatch, so a late handler finds nothing to call.
// - Signals: one asio signal_set for each signal; delivered on the loop's thread.
#include "os/real_loop.h"

// Boost 1.74's asio uses std::exchange without including <utility>.
#include <utility>
// After it:
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "os/exhausted.h"
#include "os/loop_descriptor.h"
#include "os/signals.h"
#include "os/timer_queue.h"

namespace spate::os {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// True for a signal that nohup, or a shell that starts background processes, has set to be ignored.
bool StaysIgnored(int signo) {
  switch (signo) {
    case kSignalHup:
    case kSignalInt:
    case kSignalQuit:
    case kSignalTerm:
    case kSignalTerminalStop:
      return IsSignalIgnored(signo);
    default:
      return false;
  }
}

}  // namespace

class RealLoop::Impl {
 public:
  explicit Impl(const Clock& clock)
      : clock_(clock), context_(1), work_(context_.get_executor()), timer_(context_) {}

  ~Impl() {
    for (auto& [fd, watch] : watches_) Kill(*watch);
  }

  void Run() {
    context_.run();
    context_.restart();
  }
  void Stop() { context_.stop(); }

  Result<int> Descriptor() {
    if (mirror_) return mirror_->fd();
    auto mirror = TRY(LoopDescriptor::Make());
    std::lock_guard lock(mutex_);
    mirror_ = std::move(mirror);
    for (auto& [fd, watch] : watches_) Mirror(fd);
    MirrorTime();
    mirror_->Ring();  // for what was posted
    return mirror_->fd();
  }
  void RunReady() {
    if (mirror_) mirror_->Clear();
    context_.poll();
    context_.restart();
    std::lock_guard lock(mutex_);
    if (mirror_ && !posted_.empty()) mirror_->Ring();  // stopped in between
  }

  void Post(std::function<void()> fn) {
    bool first = false;
    {
      std::lock_guard lock(mutex_);
      first = posted_.empty();
      posted_.push_back(std::move(fn));
      if (first && mirror_) mirror_->Ring();
    }
    if (first) asio::post(context_, [this] { Drain(); });
  }

  TimerId At(Instant when, std::function<void()> fn) {
    TimerId id = timers_.Add(when, std::move(fn));
    if (when < armed_) Arm(when);
    return id;
  }
  void Cancel(TimerId id) { timers_.Cancel(id); }

  void Watch(int fd, bool write, std::function<void()> fn) {
    auto& watch = watches_[fd];
    if (!watch) {
      watch = std::make_shared<WatchState>(context_);
      error_code error;
      watch->descriptor.assign(fd, error);
      namespace errc = boost::system::errc;
      if (error == errc::no_space_on_device || error == errc::not_enough_memory) {
        EndExhausted(kNoRoomToWatch);
      }
      CHECK(!error);  // not an open descriptor
    }
    Direction& direction = write ? watch->write : watch->read;
    direction.fn = std::make_shared<std::function<void()>>(std::move(fn));
    Wait(watch, write);
    Mirror(fd);
  }

  void Unwatch(int fd) {
    auto it = watches_.find(fd);
    if (it == watches_.end()) return;
    Kill(*it->second);
    Mirror(fd);
    watches_.erase(it);
  }

  void UnwatchOne(int fd, bool write) {
    auto it = watches_.find(fd);
    if (it == watches_.end()) return;
    WatchState& watch = *it->second;
    if (!(write ? watch.read : watch.write).fn) return Unwatch(fd);
    (write ? watch.write : watch.read).fn = nullptr;
    Mirror(fd);
  }

  // The first set of signals makes a pipe, and throws when there is no descriptor left.
  void PrepareSignals() { const asio::signal_set first(context_); }
  void OnSignal(int signo, std::function<void()> fn) {
    signals_.erase(signo);
    if (!fn || StaysIgnored(signo)) return;
    auto state = std::make_shared<SignalState>(context_, std::move(fn));
    error_code error;
    state->set.add(signo, error);
    CHECK(!error);
    signals_[signo] = state;
    WaitSignal(state);
  }

 private:
  struct Direction {
    std::shared_ptr<std::function<void()>> fn;  // null: not watched
    bool pending = false;                       // asio holds a wait of ours
  };
  struct WatchState {
    explicit WatchState(asio::io_context& context) : descriptor(context) {}
    asio::posix::stream_descriptor descriptor;
    Direction read, write;
  };
  struct SignalState {
    SignalState(asio::io_context& context, std::function<void()> f)
        : set(context), fn(std::move(f)) {}
    asio::signal_set set;
    std::function<void()> fn;
  };

  static void Kill(WatchState& watch) {
    watch.read.fn = nullptr;
    watch.write.fn = nullptr;
    watch.descriptor.release();
  }

  void Drain() {
    std::vector<std::function<void()>> group;
    {
      std::lock_guard lock(mutex_);
      group.swap(posted_);
    }
    size_t done = 0;
    while (done < group.size()) {
      group[done++]();
      if (context_.stopped()) break;
    }
    if (done == group.size()) return;
    // Stopped in the middle: what is left stays first in the queue for the next Run.
    std::lock_guard lock(mutex_);
    bool first = posted_.empty();
    posted_.insert(posted_.begin(), std::make_move_iterator(group.begin() + done),
                   std::make_move_iterator(group.end()));
    if (first) asio::post(context_, [this] { Drain(); });
  }

  void Mirror(int fd) {
    if (!mirror_) return;
    const WatchState& watch = *watches_.at(fd);
    mirror_->Watch(fd, watch.read.fn != nullptr, watch.write.fn != nullptr);
  }
  void MirrorTime() {
    if (!mirror_) return;
    const bool armed = armed_ < Instant::Never();
    mirror_->WakeAt(armed ? std::optional(clock_.ToMonotonic(armed_)) : std::nullopt);
  }

  void Arm(Instant when) {
    armed_ = when;
    MirrorTime();
    using Time = asio::steady_timer::time_point;
    timer_.expires_at(Time(std::chrono::nanoseconds(clock_.ToMonotonic(when))));
    timer_.async_wait([this](const error_code& error) {
      if (!error) Fire();
    });
  }

  void Fire() {
    armed_ = Instant::Never();
    // New timers wait for the next round, so that reading and posts do not starve.
    TimerId limit = timers_.NextId();
    Instant now = clock_.Now();
    while (!context_.stopped()) {
      auto fn = timers_.DrainDue(now, limit);
      if (!fn) break;
      fn();
    }
    Instant next = timers_.NextTime();
    if (next < armed_) Arm(next);
    MirrorTime();
  }

  static void Wait(const std::shared_ptr<WatchState>& watch, bool write) {
    Direction& direction = write ? watch->write : watch->read;
    if (direction.pending) return;
    direction.pending = true;
    using asio::posix::stream_descriptor;
    watch->descriptor.async_wait(
        write ? stream_descriptor::wait_write : stream_descriptor::wait_read,
        [watch, write](const error_code&) { OnReady(watch, write); });
  }

  // Errors are not looked at: a broken descriptor is ready, and the caller's read or write tells;
  // a regular file, which epoll refuses, is always ready; a cancelled wait finds no function.
  static void OnReady(const std::shared_ptr<WatchState>& watch, bool write) {
    Direction& direction = write ? watch->write : watch->read;
    direction.pending = false;
    auto fn = direction.fn;
    if (!fn) return;
    (*fn)();
    if (direction.fn) Wait(watch, write);
  }

  static void WaitSignal(const std::shared_ptr<SignalState>& state) {
    // The handler must not keep the set alive: destroying the set is what ends the wait.
    std::weak_ptr<SignalState> weak = state;
    state->set.async_wait([weak](const error_code& error, int) {
      auto held = weak.lock();
      if (error || !held) return;
      held->fn();
      WaitSignal(held);
    });
  }

  const Clock& clock_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;

  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // under mutex_

  asio::steady_timer timer_;
  TimerQueue timers_;
  Instant armed_ = Instant::Never();  // what timer_ waits for

  std::unordered_map<int, std::shared_ptr<WatchState>> watches_;
  std::unordered_map<int, std::shared_ptr<SignalState>> signals_;
  std::unique_ptr<LoopDescriptor> mirror_;  // null: nobody else waits for what we do; under mutex_
};

RealLoop::RealLoop() = default;
RealLoop::~RealLoop() = default;

Result<std::unique_ptr<RealLoop>> RealLoop::Create() {
  try {
    std::unique_ptr<RealLoop> loop(new RealLoop);
    loop->impl_ = std::make_unique<Impl>(loop->clock_);
    loop->impl_->PrepareSignals();
    return loop;
  } catch (const std::exception& e) {
    return Fail(ErrorKind::kExhausted,
                std::string("cannot make an event loop: ") + e.what() +
                    "; raise the limit of open files (ulimit -n) and try again");
  }
}

void RealLoop::Run() { impl_->Run(); }
void RealLoop::Stop() { impl_->Stop(); }
Result<int> RealLoop::Descriptor() { return impl_->Descriptor(); }
void RealLoop::RunReady() { impl_->RunReady(); }
Instant RealLoop::Now() const { return clock_.Now(); }
void RealLoop::OnClockStep(std::function<void(const ClockStep&)> fn) {
  const bool follows = fn != nullptr;
  Loop::OnClockStep(std::move(fn));
  if (!follows) return;
  if (!clock_watch_) clock_watch_ = WatchClock();
  if (clock_watch_) {
    WatchRead(clock_watch_.get(), [this] {
      uint64_t times = 0;
      (void)ReadNow(clock_watch_.get(), reinterpret_cast<char*>(&times), sizeof(times));
      LookAtClock();
    });
  }
  LookAtClock();
}
void RealLoop::LookAtClock() {
  const Clock::Drift now = clock_.MeasureDrift();
  auto is_noise = [](Duration a, Duration b) { return std::abs((a - b).ns) < 1'000'000; };
  if (is_noise(now.set, drift_.set) && is_noise(now.suspended, drift_.suspended)) return;
  drift_ = now;
  SetWall(now.set, now.suspended);
}
TimerId RealLoop::At(Instant when, std::function<void()> fn) {
  return impl_->At(when, std::move(fn));
}
void RealLoop::Cancel(TimerId id) { impl_->Cancel(id); }
void RealLoop::Post(std::function<void()> fn) { impl_->Post(std::move(fn)); }
void RealLoop::WatchRead(int fd, std::function<void()> fn) {
  impl_->Watch(fd, false, std::move(fn));
}
void RealLoop::WatchWrite(int fd, std::function<void()> fn) {
  impl_->Watch(fd, true, std::move(fn));
}
void RealLoop::Unwatch(int fd) { impl_->Unwatch(fd); }
void RealLoop::UnwatchRead(int fd) { impl_->UnwatchOne(fd, false); }
void RealLoop::UnwatchWrite(int fd) { impl_->UnwatchOne(fd, true); }
void RealLoop::OnSignal(int signo, std::function<void()> fn) {
  impl_->OnSignal(signo, std::move(fn));
}

}  // namespace spate::os
