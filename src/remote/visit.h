// A visit: one command that somebody runs inside a task, beside the task's own (`spate exec`). The
// task's shepherd starts the visit's server; whoever knows the visit's secret reaches it as the
// server of a gang's part is reached (lobby.h, client.h), once. Its order: core/model/visit.h.
#pragma once

#include <string>
#include <vector>

#include "base/bytes32.h"
#include "base/time.h"
#include "os/address.h"
#include "remote/ticket.h"

namespace spate::remote {

// So long a visitor has to come, and so long both ends go without a word of each other: who is
// suspended, or behind a pulled cable, is gone then.
inline constexpr Duration kVisitPatience = Duration::Seconds(30);
inline constexpr Duration kVisitSilence = Duration::Seconds(60);

// The ticket of a visitor. Without addresses the task is on this machine.
Ticket VisitTicket(const Bytes32& secret, const std::string& node, std::vector<os::Address> at);

// The server, from its order to the end of the visit, of the task, or of the patience with either.
// Nothing that was started in the visit is left. Returns the exit code.
int ServeVisit();

}  // namespace spate::remote
