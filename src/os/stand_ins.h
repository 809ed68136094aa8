// StandIns: small children of this process that stand for processes elsewhere, so that `kill`,
// `htop` and a shell work on those. A stand-in does nothing but report the signals that its own
// user sends it. Each leads a process group of its own and holds no descriptor of this process;
// none outlives this process.
//
// Thread: the loop's, which must be the process's main thread. No other child of this process may
// be waited for by others: all are waited for here.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/real_loop.h"

namespace spate::os {

class StandIns {
 public:
  struct Events {
    // The user has sent it this signal by kill(2) or sigqueue(3); CONT is one of them. Signals of
    // the kernel, of other users and of this process are never reported.
    std::function<void(Pid, int signo)> signalled;
    // SIGSTOP, which this process has not sent: nobody can know who did.
    std::function<void(Pid)> stopped;
    // SIGKILL, likewise. It has been waited for, and is no longer one of them.
    std::function<void(Pid)> killed;
  };
  static Result<std::unique_ptr<StandIns>> Create(RealLoop& loop, Events events);
  // Kills all.
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

  // A new one, which process lists show by this title (no NUL). kExhausted: no process is left.
  Result<Pid> Start(std::string_view title);
  bool is_stopped(Pid pid) const { return children_.contains(pid) && children_.at(pid).stopped; }
  size_t size() const { return children_.size(); }  // with those that are ending
  void Stop(Pid pid);
  void Continue(Pid pid);
  // It ends with this status of wait(2), as the process did that it stands for.
  void End(Pid pid, int wait_status);

 private:
  struct Child {
    bool stopped = false;
    bool stops = false;  // by our own SIGSTOP, which it has yet to obey
    bool ends = false;
  };
  StandIns(RealLoop& loop, Events events, Pipe pipe);
  void ReadReports();
  void ReapSome();

  RealLoop& loop_;
  const Events events_;
  const Pipe pipe_;        // their reports
  char* title_ = nullptr;  // where the kernel reads the words of a process from: argv, environment
  size_t title_room_ = 0;
  std::map<Pid, Child> children_;
};

}  // namespace spate::os
