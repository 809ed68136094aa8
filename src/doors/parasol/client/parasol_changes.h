// Changes that `parasol` makes on a hub: machines are added and removed, jobs are removed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "doors/parasol/client/batch_link.h"

namespace spate::parasol {

// kPermission: we are no administrator of the hub.
Status NeedAdmin(BatchLink& link);

// `words`: HOST TMPDIR, or all columns of a machine list. Waits for its node. kUnavailable: none of
// that name has joined; the error says how to start one.
Status AddMachine(BatchLink& link, const std::vector<std::string>& words);
// `words`: HOST REASON... False: the hub knows no such machine.
Result<bool> RemoveMachine(BatchLink& link, const std::vector<std::string>& words);

// `ids`: 7 or 7-12. Those that name nothing, or what has ended, are no errors.
Status RemoveJobs(BatchLink& link, const std::vector<std::string>& ids);
// Those of the user with a command like the pattern (parasol.h).
Status RemoveMatchingJobs(BatchLink& link, const std::string& user, const std::string& pattern);

}  // namespace spate::parasol
