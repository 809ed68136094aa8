// BatchCommands: the commands of batch systems as processes of this machine, each of its user.
//
// A command gets this process's environment (pool/environment.h) with the call's own on top, and
// starts in its user's home. Only a hub of root can run it as another user: by runuser, with the
// user's HOME, USER, LOGNAME and SHELL, and without what should stay root's.
//
// Call::file is written by a process of the user, too, so nobody gets a file by our rights and a
// hung file system keeps no loop; readers see the old file or the whole new one.
//
// Thread: the loop's.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hub/pools/commands.h"
#include "hub/turns.h"
#include "os/account.h"
#include "os/aside.h"
#include "os/command.h"
#include "os/environment.h"
#include "os/real_loop.h"

namespace spate::daemon {

class BatchCommands final : public hub::Commands {
 public:
  struct Options {
    std::string user;      // whom this process runs as
    bool is_root = false;  // so it can become others
    os::Environment environment;
  };
  BatchCommands(os::RealLoop& loop, Options options);
  ~BatchCommands() override;

  void Run(pool::CommandLine call, const std::string& user, Duration patience, Done done) override;
  void FindHome(const std::string& user, Found done) override;

 private:
  using LookUp = os::Aside<os::Account>;
  struct Task {
    pool::CommandLine call;
    std::string user;
    Duration patience;
    Done done;
    uint64_t turn = 0;
    Instant ends = Instant::Never();     // its patience does
    std::optional<os::Account> account;  // of a user that is not ours
    std::unique_ptr<LookUp> lookup;
    std::unique_ptr<os::Command> command;
    os::TimerId failure = 0;  // a failure that is still to be told
  };
  using TaskAt = std::list<Task>::iterator;
  // One after the other.
  void Begin(TaskAt task);
  void MakeFile(TaskAt task);
  void Execute(TaskAt task);
  void End(TaskAt task, pool::Outcome outcome);
  void Fail(TaskAt task, std::string why);

  // Starts `argv` as the task's user, with what is left of the task's patience.
  void Start(TaskAt task, std::vector<std::string> argv, std::string input, os::Command::Done done);
  os::Environment EnvironmentOf(const Task& task) const;

  os::RealLoop& loop_;
  const Options options_;
  const os::Environment environment_;
  hub::Turns turns_{{.all = 16, .of_a_user = 4, .kept = 0}};
  std::list<Task> tasks_;
  struct Home {
    uint64_t turn = 0;
    std::unique_ptr<LookUp> lookup;
  };
  std::list<Home> homes_;  // that are asked for
};

}  // namespace spate::daemon
