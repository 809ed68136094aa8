// A place where others can look at the hub that a program has for its own jobs: a socket in a
// folder of the process below STATE/masters, as HOST-PID. The state folder may be on a file system
// of many machines; sockets are reached on their own.
//
// Any thread.
#pragma once

#include <string>
#include <vector>

#include "os/process.h"

namespace spate::link {

std::string MasterFolder(const std::string& state_dir, const std::string& host, os::Pid process);
// The sockets of processes of this host that run. Removes what killed ones have left.
std::vector<std::string> FindMasters(const std::string& state_dir, const std::string& host);

}  // namespace spate::link
