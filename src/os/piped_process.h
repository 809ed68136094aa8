// PipedProcess: a program in a session of its own whose standard streams are pipes to this process,
// for somebody elsewhere who uses it as if it ran there.
//
// Thread: the loop's. SIGPIPE must be ignored by the process.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/real_loop.h"

namespace spate::os {

class PipedProcess {
 public:
  struct Events {
    // Bytes of its standard output (1) or error (2); the view ends with the call.
    std::function<void(int stream, std::string_view)> output;
    // So many bytes of its input went to it, or never will as it reads no more.
    std::function<void(size_t)> input_gone;
    // The status of wait(2), when it has ended and nobody holds its output open any more; after
    // Abandon as soon as it has ended. The last call, which alone may destroy this.
    std::function<void(int wait_status)> ended;
  };
  // Runs `argv`, looked for in PATH, with this environment and in this process' folder.
  static Result<std::unique_ptr<PipedProcess>> Start(RealLoop& loop,
                                                     const std::vector<std::string>& argv,
                                                     const std::vector<std::string>& environment,
                                                     Events events);
  // Kills it with its group, unless it has ended; no function is called any more.
  ~PipedProcess();
  PipedProcess(const PipedProcess&) = delete;
  PipedProcess& operator=(const PipedProcess&) = delete;

  // Takes all bytes; `input_gone` tells how many are still kept.
  void Write(std::string_view bytes);
  // Its input ends behind what was written.
  void CloseInput();
  // Does not read its output for now, so it will wait.
  void PauseOutput(bool paused);
  // To it and its group; nothing when it has ended.
  void Signal(int signo);
  // Nobody uses it any more: its pipes are closed, and it is told to end (SIGTERM). What is left of
  // its group when it has ended, or when `grace` is over, is killed.
  void Abandon(Duration grace);

 private:
  struct Pipes {
    Fd in, out, err;
  };
  PipedProcess(RealLoop& loop, Pid pid, Pipes pipes, Events events);
  void AwaitExit();
  void LookAgain();
  void OnExit();
  void OnReadable(int stream);
  void WatchOutput();
  void OnWritable();
  void CloseInputNow();
  void CloseOutput(int stream);
  void EndIfDone();

  RealLoop& loop_;
  Pid pid_;  // 0: it was waited for, or left to Reap
  Fd pidfd_;
  TimerId timer_ = 0;  // without a pidfd
  TimerId grace_ = 0;
  Fd in_;
  std::string input_;  // not yet written
  bool input_ends_ = false;
  bool writes_ = false;  // in_ is watched
  std::array<Fd, 2> out_;
  bool paused_ = false;
  bool abandoned_ = false;
  std::optional<int> status_;
  Events events_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::os
