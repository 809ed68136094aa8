// Whom the tasks of a node run as.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/account.h"
#include "shepherd/protocol.h"

namespace spate::node {

// The account and the groups of a name.
using UserLookUp = std::function<Result<shepherd::TaskUser>(const std::string&)>;
// On this machine. It runs programs of the host, which may ask the network.
Result<shepherd::TaskUser> LookUpUser(const std::string& name);
// Gives what `look_up` has found for so long: the jobs of a user come in rows. What it did not find
// it is asked for again after 10 s.
UserLookUp RememberUsers(UserLookUp look_up, std::function<Instant()> now, Duration keep);

struct TaskUserRules {
  std::vector<std::string> users;      // who may; empty: everybody with an account of a person
  bool allow_root = false;             // tasks as root
  uint32_t own = os::EffectiveUser();  // whom this process runs as
  UserLookUp look_up = LookUpUser;
};

// Whom the shepherd shall become for a job's `user` (JobSettings); empty when it is its own. A node
// that is not root runs tasks of its own user alone. Errors say whom it does run and what to do.
Result<std::optional<shepherd::TaskUser>> TaskUserFor(const std::string& user,
                                                      const TaskUserRules& rules);

}  // namespace spate::node
