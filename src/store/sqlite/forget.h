// Removing a job from a hub's journal, piece by piece, so that no commit takes long.
#pragma once

#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"

namespace spate::store {

// Removes a piece of a job that has finished or was never accepted, or of any when it is `damaged`;
// true: nothing is left of it. Readers miss the job from the first piece on. Another job stays as
// it is, and that is true too. Within the caller's transaction, on its connection.
Result<bool> ForgetSome(Database& db, const JournalPlace& place, JobId job, bool damaged = false);

// Jobs whose removal was cut short, and submissions that were: the hub that wrote them is gone.
Result<std::vector<JobId>> JobsToForget(Database& db);

}  // namespace spate::store
