// Child: a program that does side work for this process: it gets its input whole, and its output
// comes as it is written. For daemons, whose own thread must not wait.
//
// Thread: the loop's. SIGPIPE must be ignored by the process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/spawn_child.h"

namespace spate::os {

class Child {
 public:
  struct Events {
    std::function<void(std::string_view)>
        output;                   // its standard output; the view ends with the call
    std::function<void()> ended;  // it is gone; the last call
    // Instead of `ended` when it is given, with the status of wait(2).
    std::function<void(int)> exited = nullptr;
  };
  enum class Errors : uint8_t { kOurs, kOutput };  // where its standard error goes
  // kByItself: it leads a session of its own, so signals of our terminal do not reach it, and it
  // outlives this object.
  enum class Ends : uint8_t { kWithUs, kByItself };
  // Runs `argv`, looked for in PATH, with standard error as this process has it, or as a part of
  // its output. The functions are called by the loop and may destroy the child. kExhausted: no
  // process or descriptor is left.
  static Result<std::unique_ptr<Child>> Start(RealLoop& loop, const std::vector<std::string>& argv,
                                              std::string input, Events events,
                                              Errors errors = Errors::kOurs,
                                              Ends ends = Ends::kWithUs);
  // Kills it, unless it ends by itself; no function is called any more. The loop, which must
  // outlive this, sees to the rest.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Nothing when it has ended.
  void Signal(int signo);
  // Does not read its output for now, so it will wait.
  void Pause(bool paused);

 private:
  Child(RealLoop& loop, Pid pid, Fd in, Fd out, std::string input, Events events, Ends ends);
  void Watch();
  void OnReadable();
  void AwaitExit();

  RealLoop& loop_;
  Pid pid_;  // 0: it was waited for
  TimerId timer_ = 0;
  ChildInput input_;
  Fd out_;
  bool paused_ = false;
  Events events_;
  const Ends ends_;
};

}  // namespace spate::os
