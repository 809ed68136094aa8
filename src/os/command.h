// Command: a program that is run to its end, for what it answers: whole input, output and errors
// apart.
//
// It ends when its process does, not when its pipes close: what it leaves running (ssh with
// ControlPersist) may hold them open for ever. It leads a session of its own, so nothing in it can
// ask a terminal for a password.
//
// Thread: the loop's. SIGPIPE must be ignored by the process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/child.h"
#include "os/environment.h"
#include "os/real_loop.h"

namespace spate::os {

class Command {
 public:
  struct Options {
    std::vector<std::string> argv;  // the first is looked for in the PATH of `environment`
    std::string input;
    Environment environment;              // all of it
    std::string folder;                   // empty: ours
    Duration patience = Duration::Max();  // then it is killed, with what is left of its group
    // Bytes that are kept; what comes after them is read and dropped.
    size_t most_out = 8 << 20;
    size_t most_err = 64 << 10;
    bool pidfd = true;  // false: as with a kernel before 5.3
  };
  struct Ended {
    bool timed_out = false;
    int exit_code = 0;  // 128 + the signal's number where a signal ended it
    std::string out, err;
    uint64_t out_dropped = 0, err_dropped = 0;  // bytes
  };
  using Done = std::function<void(Ended)>;
  // `done` comes once, from the loop, and may destroy the command. kNotFound and others, with the
  // program's name: it could not be started.
  static Result<std::unique_ptr<Command>> Start(RealLoop& loop, Options options, Done done);
  // Kills it and its group; `done` is not called any more. The loop, which must outlive this, sees
  // to the rest.
  ~Command() { loop_.Cancel(timeout_); }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

 private:
  Command(RealLoop& loop, Done done) : loop_(loop), done_(std::move(done)) {}
  void End();

  RealLoop& loop_;
  Ended ended_;
  TimerId timeout_ = 0;
  Done done_;
  std::unique_ptr<Child> child_;
};

}  // namespace spate::os
