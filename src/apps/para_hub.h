// What `para` asks of a hub about one batch (docs/formats/parasol.md), the hub's side.
//
// Thread: the loop's.
#pragma once

#include "hub/client_session.h"
#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::apps {

// The submission that a batch is known by, to clients; the hub puts the user before it.
std::string BatchSubmission(const std::string& results);

// The job of this user's batch; none: the hub knows no such batch.
Result<std::optional<JobId>> FindBatch(hub::Service& service, const std::string& user,
                                       const std::string& results);
// Of a question about a batch that may be another user's, to look at it: "owner=USER".
inline constexpr std::string_view kOwnerWord = "owner=";

// The batch avoids the machine, or would where another one could take its jobs.
bool IsSickFor(const engine::JobTrouble& trouble);

// False: the command is none of para's.
bool RunParaCommand(hub::Service& service, hub::ClientSession& client,
                    const wire::Command& command);

}  // namespace spate::apps
