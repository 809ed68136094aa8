// Whom the tasks of a node run as.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/account.h"
#include "shepherd/protocol.h"

namespace spate::node {

struct TaskUserRules {
  std::vector<std::string> users;      // who may; empty: everybody with an account of a person
  bool allow_root = false;             // tasks as root
  uint32_t own = os::EffectiveUser();  // whom this process runs as
  // The account and the groups of a name; this machine's unless a test has others.
  std::function<Result<shepherd::TaskUser>(const std::string&)> look_up;
};

// Whom the shepherd shall become for a job's `user` (JobSettings); empty when it is its own. A node
// that is not root runs tasks of its own user alone. Errors say whom it does run and what to do.
Result<std::optional<shepherd::TaskUser>> TaskUserFor(const std::string& user,
                                                      const TaskUserRules& rules);

}  // namespace spate::node
