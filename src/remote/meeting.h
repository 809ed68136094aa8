// The processes of a gang that find each other by PMI (pmi.h). The first one's process serves;
// those on its node give it a connection directly, those on others by a command that they start
// there as `spate remote` does. So nothing listens on a network but the nodes' lobbies.
//
//   connection := "rank N" newline, then what PMI says; back: the gang's word (64 hex digits) and a
//   newline, which nobody else knows, then what PMI answers
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/real_loop.h"
#include "remote/ticket.h"

namespace spate::remote {

// Names, in the environment of commands that a part's server starts, the server's own program.
inline constexpr const char* kServerProgram = "SPATE_SERVER_PROGRAM";

inline constexpr int kSignalUser1 = 10;
inline constexpr int kSignalUser2 = 12;
// Signals that a process group gets are nothing to a process of it that only waits for a command.
void LeaveSignalsToCommand(os::RealLoop& loop);

// Runs the command of one process, by SPATE_RANK and SPATE_HOSTS, with PMI_FD, PMI_RANK and
// PMI_SIZE. Returns its exit code, or ends as it does by a signal.
Result<int> Meet(const Ticket& ticket, const std::vector<std::string>& argv);
// On the first node, for a process on another one: joins standard input and output with the first
// process, until one of both ends.
Result<int> Come(const Ticket& ticket, std::string_view rank);

}  // namespace spate::remote
