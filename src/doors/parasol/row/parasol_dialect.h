// The dialect of Parasol's rows (parasol_row.h), and what a node adds to its jobs: their
// environment, and the name of the file that their stderr goes to.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "format/dialect.h"
#include "os/account.h"

namespace spate::parasol {

// A node's settings for tasks.
struct NodeTasks {
  std::vector<std::string> user_path;    // below the user's home folder; first in PATH
  std::vector<std::string> sys_path;     // behind these, and before the node's own PATH
  std::vector<std::string> environment;  // NAME=VALUE; above all others
  int umask = -1;                        // -1: as the job has it
  std::string host;                      // the machine's name
  std::function<Result<os::Account>(const std::string& user)> account = os::AccountByName;
};

// PARASOL, HOST, USER, HOME and PATH, and the node's own.
std::vector<std::string> EnvironmentOf(const NodeTasks& tasks, const std::string& user);

// paraID.err
std::string KeptName(JobId job, TaskIndex task);
bool IsKeptName(std::string_view name);

// Programs that only show what the rows say need no NodeTasks.
void AddDialect(format::Dialects& dialects, NodeTasks tasks = {});

}  // namespace spate::parasol
