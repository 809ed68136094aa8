// Commands: runs what drivers of batch systems ask for (pool/driver.h), beside the loop.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "os/loop.h"
#include "pool/driver.h"

namespace spate::hub {

class Commands {
 public:
  virtual ~Commands() = default;
  using Done = std::function<void(pool::Outcome)>;
  // Runs it as `user`. `done` comes once, on the loop's thread and never from within this call; not
  // after this object's end. A command that takes longer than `patience` is killed with all that it
  // has started (kTimedOut); the time before its turn does not count. Call::file stays: a batch
  // system may read it for as long as the batch job is there, and only the caller knows its end.
  virtual void Run(pool::CommandLine call, const std::string& user, Duration patience,
                   Done done) = 0;
  // The home folder of a user of this machine. `done` comes as that of Run.
  using Found = std::function<void(Result<std::string>)>;
  virtual void FindHome(const std::string& user, Found done) = 0;
};

// For a hub that starts no pilots: no command can be started.
class NoCommands final : public Commands {
 public:
  explicit NoCommands(os::Loop& loop) : loop_(loop) {}
  void Run(pool::CommandLine, const std::string&, Duration, Done done) override {
    loop_.Post([done = std::move(done)] {
      done({pool::Outcome::End::kNotStarted, 0, "", "this hub starts no pilots"});
    });
  }

  void FindHome(const std::string&, Found done) override {
    loop_.Post([done = std::move(done)] {
      done(Fail(ErrorKind::kUnavailable, "this hub starts no pilots"));
    });
  }

 private:
  os::Loop& loop_;
};

}  // namespace spate::hub
