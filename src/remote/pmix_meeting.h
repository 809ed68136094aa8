// The processes of a gang that find each other by PMIx, as Open MPI's do. The first process on each
// node runs a server, spate-pmix (remote/pmix/server), for those of its node; the servers exchange
// what they need by the gang's first process (remote/pmix/space.h). Connections are those of
// meeting.h: nothing listens on a network but the nodes' lobbies.
//
//   of a node's process to the node's first one := "rank N" newline, then "ended" newline when its
//   command has ended with exit code 0; back: the word (as in meeting.h), then a `process` message
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "remote/ticket.h"

namespace spate::remote {

inline constexpr const char* kPmixProgram = "spate-pmix";
// Path of that program, which is expected in this program's own folder.
Result<std::string> FindPmixProgram();
// Checks that it runs here: it needs libpmix. kNotFound: there is none. Waits for it for 10 seconds
// at most.
Status CheckPmix();

// Runs the command of one process, by SPATE_RANK, SPATE_LOCAL_RANK, SPATE_PART and SPATE_HOSTS,
// with the environment that PMIx needs. Returns its exit code, or ends as it does by a signal.
Result<int> MeetByPmix(const Ticket& ticket, const std::vector<std::string>& argv);

}  // namespace spate::remote
