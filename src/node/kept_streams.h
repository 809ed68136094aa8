// KeptStreams: what tasks write to stderr that stays on their node, for people: a file for each
// task, in a folder for temporary files. The hub asks for it when somebody wants it
// (node/questions/task_stderr.cc).
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "os/account.h"

namespace spate::node {

struct KeptStreams {
  std::string dir = "/tmp";  // absolute
  bool makes_dir = false;    // it is this node's alone, and made when it is needed
  // The name of a task's file in it, and whether a name could be one of these.
  std::string (*name)(JobId, TaskIndex) = nullptr;
  bool (*is_name)(std::string_view) = nullptr;
  std::function<Result<os::Account>(const std::string& user)> account = os::AccountByName;
};

// Sees to `makes_dir`, for all whose tasks may run here. kPermission: what stands there is another
// user's, who could lead files elsewhere.
Status MakeKeptDir(const KeptStreams& kept);
std::string KeptPath(const KeptStreams& kept, JobId job, TaskIndex task);
// For root's node, before a task: removes a file of that name which is another user's. Hubs give
// out the same numbers, and the task could not write there.
void MakeRoomForKept(const KeptStreams& kept, const std::string& user, JobId job, TaskIndex task);
// At most `limit` bytes from its beginning; of a file that is not there, none: it was empty.
// kPermission when it is not a file of this user.
Result<std::string> ReadKept(const KeptStreams& kept, const std::string& user, JobId job,
                             TaskIndex task, size_t limit);
// Removes what nobody has written to since `before`, but for the files with the names `running`.
// Links are left alone, and what cannot be removed stays.
void RemoveOldKept(const KeptStreams& kept, Instant before, const std::set<std::string>& running);

}  // namespace spate::node
