// The hub of one `spate run --pool`: a child of it, in a folder of its own. When the run is gone,
// however it went, its tasks are ended, its pilots are taken back, and the hub ends.
#pragma once

#include <optional>

namespace spate::daemon {

// Its first word on standard output, when it serves.
inline constexpr const char* kPoolHubUp = "up";

// `spate __pool-hub DIR PARENT`, where PARENT is the pid of the run. The process's exit code;
// nullopt when argv is something else.
std::optional<int> PoolHubEntry(int argc, char** argv);

}  // namespace spate::daemon
