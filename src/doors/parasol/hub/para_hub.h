// What `para` asks of a hub about one batch (docs/formats/parasol.md), the hub's side.
//
// Thread: the loop's.
#pragma once

#include "hub/client_session.h"
#include "hub/job_habits.h"
#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::parasol {

// What a hub does for batches; `default_memory` of a job that does not say, bytes.
void AddHabits(hub::HabitsByKind& habits, uint64_t default_memory);

// The job of this user's batch; none: the hub knows no such batch.
Result<std::optional<JobId>> FindBatch(hub::Service& service, const std::string& user,
                                       const std::string& results);

// The batch avoids the machine, or would where another one could take its jobs.
bool IsSickFor(const engine::JobTrouble& trouble);

// False: the command is none of para's.
bool RunParaCommand(hub::Service& service, hub::ClientSession& client,
                    const wire::Command& command);

}  // namespace spate::parasol
