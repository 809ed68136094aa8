// GNU make's job server: two descriptors of a pipe that make hands down to those who ask it for
// jobs, and names in MAKEFLAGS. They pass through spate to its tasks with the same numbers. (A job
// server that is a named pipe, as make 4.4 makes them, needs no descriptors.)
#pragma once

#include <optional>

namespace spate::shepherd {

struct JobServer {
  int read = -1;
  int write = -1;
};

// The job server that this text of MAKEFLAGS names; null: there is none. nullopt: no descriptors.
std::optional<JobServer> JobServerOf(const char* makeflags);
// The same from this process's environment, where both are pipes which it has inherited:
// descriptors of its own are closed on exec.
std::optional<JobServer> InheritedJobServer();

}  // namespace spate::shepherd
