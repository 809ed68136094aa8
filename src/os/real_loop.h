// RealLoop: the loop of the product, over Boost.Asio (which this header does not show).
//
// Thread: Run, At, Cancel, Watch*, Unwatch and OnSignal belong to the loop's thread (or come
// before Run); Post, Stop and Now may be called from any thread. Functions must not throw.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "os/clock.h"
#include "os/loop.h"

namespace spate::os {

class RealLoop final : public Loop {
 public:
  // kExhausted when the process may not open the few descriptors that a loop needs.
  static Result<std::unique_ptr<RealLoop>> Create();
  ~RealLoop() override;
  RealLoop(const RealLoop&) = delete;
  RealLoop& operator=(const RealLoop&) = delete;

  // Calls what is posted, due, ready and signalled until Stop(). May be called again afterwards.
  void Run();
  // Run() returns after the function that runs now. A Stop() before Run() is not forgotten.
  void Stop();

  // For a program with a loop of its own, in place of Run: whenever this descriptor is readable,
  // RunReady calls what is posted, due and ready, and returns. The loop keeps the descriptor.
  // Signals (OnSignal) do not make it readable. kExhausted as of Create.
  Result<int> Descriptor();
  void RunReady();

  Instant Now() const override;
  void OnClockStep(std::function<void(const ClockStep&)> fn) override;
  TimerId At(Instant when, std::function<void()> fn) override;
  void Cancel(TimerId id) override;
  // One wake-up of the loop serves all posts that came until it looked.
  void Post(std::function<void()> fn) override;

  // Calls `fn` again and again while `fd` is readable (at its end or broken counts too), or
  // writable, until Unwatch. The descriptor stays the caller's, who unwatches before closing it;
  // whether it blocks is left alone. A further call replaces the function. Regular files are
  // always ready. Ends the process (os/exhausted.h) if the machine watches no further descriptor.
  void WatchRead(int fd, std::function<void()> fn);
  void WatchWrite(int fd, std::function<void()> fn);
  // Ends both watches; afterwards neither function is called. Unknown descriptors are ignored.
  void Unwatch(int fd);
  // End one of the two.
  void UnwatchRead(int fd);
  void UnwatchWrite(int fd);

  // Calls `fn` on the loop's thread after `signo` has come, maybe once for several; null: as
  // before. A signal that would end or stop us, and that we were born to ignore (nohup), stays
  // ignored.
  void OnSignal(int signo, std::function<void()> fn);

  const Clock& clock() const { return clock_; }

 private:
  class Impl;
  RealLoop();

  void LookAtClock();

  Clock clock_;
  Clock::Drift drift_;  // as was told
  Fd clock_watch_;      // outlives the loop that watches it
  std::unique_ptr<Impl> impl_;
};

}  // namespace spate::os
