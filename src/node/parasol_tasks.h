// What a node adds to jobs of Parasol (RowKind::kParasol): their environment, and the file that
// their stderr goes to and is fetched from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "os/account.h"

namespace spate::node {

struct ParasolTasks {
  std::vector<std::string> user_path;    // below the user's home folder; first in PATH
  std::vector<std::string> sys_path;     // behind these, and before the node's own PATH
  std::vector<std::string> environment;  // NAME=VALUE; above all others
  int umask = -1;                        // -1: as the job has it
  std::string temp_dir = "/tmp";         // absolute
  bool makes_temp_dir = false;           // it is this node's alone, and made when it is needed
  std::string host;                      // the machine's name; empty: the node's
  std::function<Result<os::Account>(const std::string& user)> account = os::AccountByName;
};

// PARASOL, HOST, USER, HOME and PATH, and the node's own.
std::vector<std::string> ParasolEnvironment(const ParasolTasks& tasks, const std::string& user);
// Sees to `makes_temp_dir`, for all whose jobs may run here. kPermission: what stands there is
// another user's, who could lead files elsewhere.
Status MakeTempDir(const ParasolTasks& tasks);
// TEMPDIR/paraID.err
std::string ParasolStderr(const ParasolTasks& tasks, JobId job, TaskIndex task);
// Of root's node, before a job: removes a file of that name which is another user's. Hubs give out
// the same numbers, and the job could not write there.
void MakeRoomForStderr(const ParasolTasks& tasks, const std::string& user, JobId job,
                       TaskIndex task);
// At most `limit` bytes from its beginning; of a file that is not there, none: it was empty.
// kPermission when it is not a file of this user.
Result<std::string> ReadParasolStderr(const ParasolTasks& tasks, const std::string& user, JobId job,
                                      TaskIndex task, size_t limit);

}  // namespace spate::node
