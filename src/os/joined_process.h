// JoinedProcess: a program that this process starts as if it were a part of it: with its standard
// streams, its environment, its folder and its process group. The one that was started last gets
// USR1 and USR2 in place of this process (--signal reaches this process only).
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/spawn_child.h"

namespace spate::os {

class JoinedProcess {
 public:
  // Runs `argv`, looked for in PATH. `ended` is called once, by the loop, with the status of
  // wait(2).
  static Result<std::unique_ptr<JoinedProcess>> Start(RealLoop& loop,
                                                      const std::vector<std::string>& argv,
                                                      std::function<void(int wait_status)> ended);
  // The same with other streams or another environment.
  static Result<std::unique_ptr<JoinedProcess>> Start(RealLoop& loop, const Spawn& spawn,
                                                      std::function<void(int wait_status)> ended);
  // It goes on; nothing is called any more.
  ~JoinedProcess();
  JoinedProcess(const JoinedProcess&) = delete;
  JoinedProcess& operator=(const JoinedProcess&) = delete;

 private:
  JoinedProcess(RealLoop& loop, Pid pid, std::function<void(int)> ended);
  void LookAgain();
  void OnExit();

  RealLoop& loop_;
  Pid pid_;  // 0: it was waited for
  Fd pidfd_;
  TimerId timer_ = 0;  // without a pidfd
  std::function<void(int)> ended_;
};

}  // namespace spate::os
