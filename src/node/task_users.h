// The users that the tasks of a node run as.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/account.h"
#include "os/aside.h"
#include "os/loop.h"
#include "shepherd/protocol.h"

namespace spate::node {

// The account and the groups of a name.
using UserLookUp = std::function<Result<shepherd::TaskUser>(const std::string&)>;
// On this machine. It runs programs of the host, which may ask the network.
Result<shepherd::TaskUser> LookUpUser(const std::string& name);

// Cache of users that were found, for `keep`: a user's jobs often come in rows. Failures are
// forgotten after 10 s.
//
// Thread: the loop's; users are looked up on another thread, since that may query a server.
class KnownUsers {
 public:
  KnownUsers(os::Loop& loop, UserLookUp look_up, Duration keep);
  bool Knows(const std::string& name);
  // Calls `then` when it is known, later.
  void LookUp(const std::string& name, std::function<void()> then);
  // Waits, where it is not known.
  Result<shepherd::TaskUser> Find(const std::string& name);

 private:
  struct Known {
    Result<shepherd::TaskUser> user;
    Instant until;
  };
  struct Asked {
    std::unique_ptr<os::Aside<shepherd::TaskUser>> work;
    std::vector<std::function<void()>> waiting;
  };
  void Cache(const std::string& name, Result<shepherd::TaskUser> found);

  os::Loop& loop_;
  const UserLookUp look_up_;
  const Duration keep_;
  std::map<std::string, Known> known_;
  std::map<std::string, Asked> asked_;
};

// The user as whom tasks of a job run that names nobody.
inline const std::string& AccountOf(const std::string& user) {
  static const std::string kRoot = "root";
  return user.empty() ? kRoot : user;
}

struct TaskUserRules {
  std::vector<std::string> users;      // who may; empty: everybody with an account of a person
  bool allow_root = false;             // tasks as root
  uint32_t own = os::EffectiveUser();  // whom this process runs as
  UserLookUp look_up = LookUpUser;
};

// The user that the shepherd becomes for a job's `user` (JobSettings); empty when it is its own. A
// node that is not root runs tasks of its own user alone. Errors say whom it does run and what to
// do.
Result<std::optional<shepherd::TaskUser>> TaskUserFor(const std::string& user,
                                                      const TaskUserRules& rules);

}  // namespace spate::node
