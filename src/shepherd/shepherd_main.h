// The shepherd: the process that starts, contains, measures and ends attempts, one after another.
// It is this program again, started with the hidden argument `__shepherd` (shepherd/launch.h).
#pragma once

#include <optional>

namespace spate::shepherd {

inline constexpr const char* kShepherdArgument = "__shepherd";
inline constexpr int kSocketFd = 3;    // where a shepherd finds its socket
inline constexpr int kProgressFd = 4;  // and the page where it tells which order it has started
// Descriptors of the job server that its parent has inherited (job_server.h), if there is one.
inline constexpr int kJobServerReadFd = 5;
inline constexpr int kJobServerWriteFd = 6;

// To be called first in main, before anything that costs memory: a shepherd's size is a floor
// under the peak memory that the system reports for its tasks. Runs a shepherd and returns its
// exit status when these are the arguments of one; otherwise does nothing.
std::optional<int> ShepherdEntry(int argc, char** argv);

// Takes orders from `socket_fd` until it hangs up, then ends what runs and returns the process's
// exit status. Makes this process a group leader without terminal and a subreaper, and takes
// descriptors 0 to 2.
int ShepherdMain(int socket_fd, int progress_fd);

}  // namespace spate::shepherd
