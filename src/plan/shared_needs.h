// Requirements of all tasks of a job, checked once before it starts rather than by each task.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/surroundings.h"
#include "core/model/job.h"

namespace spate::run {

// kOnNodes: the nodes of a hub, which are taken to have the programs and files of this machine. The
// errors then say how to name what only the nodes have.
enum class TasksRun { kHere, kOnNodes };

// Fails (kInvalid) when --shell names no program that can be started.
Status CheckShell(const client::Surroundings& here, const JobSettings& settings, TasksRun where);

// Fails (kInvalid) when --stdin names the same file for all tasks, and it cannot be read. Of tasks
// on nodes nothing is known when this machine does not have their folder.
Status CheckStdin(const JobSettings& settings, TasksRun where);

// Shown once where `run` or `sem` has /bin/sh in the place of bash.
inline constexpr const char* kNoBash =
    "this machine has no bash, so /bin/sh runs the lines that need a shell";

// Both.
Status CheckSharedNeeds(const client::Surroundings& here, const JobSettings& settings,
                        TasksRun where);

// The first 16 KB of a regular file; empty where there is none, or where that cannot be told
// because a file server does not answer for 2 s.
std::string ReadBeginning(const std::string& file);

// Positions of the files that do not exist, in order; none when a file server does not answer for
// 2 s.
std::vector<size_t> MissingOf(const std::vector<std::string>& files);

}  // namespace spate::run
