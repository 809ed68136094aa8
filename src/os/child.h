// Child: a program that works for this process, watched by the loop, whose own thread must not
// wait.
//
// Thread: the loop's. SIGPIPE must be ignored by a process that writes to a child.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/spawn_child.h"
#include "os/terminal.h"

namespace spate::os {

class Child {
 public:
  // Standard streams that are pipes to this process. Others are as Spawn has them.
  enum class Pipes : uint8_t {
    // None: it works as if it were a part of this process, gets USR1 and USR2 in place of it (the
    // child that was started last does), and outlives this object.
    kNone,
    kOut,       // input and output
    kOneText,   // input and output, which the errors are a part of
    kAll,       // input, output, errors
    kTerminal,  // none: a terminal of its own (Options::window) is all three; output is one text
  };
  struct Options {
    Spawn spawn;  // with `session` the group is signalled and killed in place of the process alone
    Pipes pipes = Pipes::kOut;
    // All of the input; nullopt: by Write and CloseInput.
    std::optional<std::string> input = std::string();
    WindowSize window = {};    // of kTerminal
    bool outlives_us = false;  // is not killed by the destructor
    // Ends when its process does, though what that has left running holds the pipes open.
    bool ends_at_exit = false;
    bool pidfd = true;  // false: as with a kernel before 5.3
  };
  struct Events {
    // Bytes of its standard output (1) or errors (2); the view ends with the call.
    std::function<void(int stream, std::string_view)> output = nullptr;
    // So many bytes of its input went to it, or never will because it reads no more.
    std::function<void(size_t)> input_gone = nullptr;
    // The status of wait(2), when it has ended and nobody holds its output open any more. The last
    // call.
    std::function<void(int wait_status)> ended = nullptr;
  };
  // `output` and `ended` are called by the loop and may destroy the child. kExhausted: no process
  // or descriptor is left.
  static Result<std::unique_ptr<Child>> Start(RealLoop& loop, Options options, Events events);
  // Kills it, unless it ends by itself; no function is called any more. The loop, which must
  // outlive this, sees to the rest.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Queues all bytes; `input_gone` reports those that have left the queue.
  void Write(std::string_view bytes);
  // Its input ends behind what was written.
  void CloseInput();
  // Does not read its output for now, so it will wait.
  void Pause(bool paused);
  // Reads what is in its pipes now, and awaits nothing further.
  void ReadWhatIsThere();
  // Nothing without a terminal of its own.
  void Resize(WindowSize window);
  // Nothing when it has ended.
  void Signal(int signo);
  // Nobody uses it any more: its pipes are closed, and it is told to end (SIGTERM). What is left of
  // its group when it has ended, or when `grace` is over, is killed. `ended` comes at its exit.
  void Abandon(Duration grace);

 private:
  Child(RealLoop& loop, const Options& options, Events events);
  void Begin(std::optional<std::string> input);
  void AwaitExit();
  void LookAgain();
  void OnExit();
  size_t OnReadable(int stream);
  void WatchOutput();
  void OnWritable();
  void Close(int stream);
  void EndIfDone();

  RealLoop& loop_;
  Pid pid_ = 0;  // 0: not started, waited for, or left to Reap
  const bool group_, outlives_us_, ends_at_exit_, joined_, terminal_, pidfd_wanted_;
  Fd pidfd_;
  TimerId timer_ = 0;  // without a pidfd
  TimerId grace_ = 0;
  std::array<Fd, 3> fds_;  // our ends: input, output, errors
  std::string input_;      // written up to `sent_`
  size_t sent_ = 0;
  bool input_ends_ = false;
  bool writes_ = false;  // the input is watched
  bool paused_ = false;
  bool abandoned_ = false;
  std::optional<int> status_;
  std::shared_ptr<Events> events_;  // whose functions may destroy this
};

}  // namespace spate::os
