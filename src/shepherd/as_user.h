// For a while this process has the rights of a task's user: what the user names (folders, files,
// programs) is looked up and opened so. Its real and saved user stay, so it can go back, and the
// user can neither signal nor trace it.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

class AsUser {
 public:
  // Effective user, groups and umask of the tasks of this job; nothing for a job without them.
  explicit AsUser(const JobOpening& job);
  ~AsUser();
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

  // When it is an error, nothing may be done for the task.
  const Status& status() const { return status_; }

 private:
  Status Become(const TaskUser& user);

  Status status_;
  bool became_ = false;
  uid_t user_ = 0;
  gid_t group_ = 0;
  std::vector<gid_t> groups_;
  int umask_ = -1;
};

// While this process is AsUser: it has its own rights to files again.
class AsOurselves {
 public:
  AsOurselves();
  ~AsOurselves();
  AsOurselves(const AsOurselves&) = delete;
  AsOurselves& operator=(const AsOurselves&) = delete;

 private:
  uid_t user_;
};

// NAME=value of a fresh login of the user, for the beginning of a task's environment: nothing of
// ours but language and time zone.
std::vector<std::string> LoginEnvironment(const TaskUser& user, const char* path);
// The part of this process' environment that other users may see (docs/user/parasol.md), with the
// user's own home, name and shell.
std::vector<std::string> InheritedEnvironment(const TaskUser& user, const char* path);
// True if a variable of this name is passed on to other users' tasks.
bool IsInherited(std::string_view name);

}  // namespace spate::shepherd
