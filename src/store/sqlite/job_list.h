// The jobs of a state folder or of a hub, as `spate job list` shows them. Safe while other
// processes write.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/history.h"
#include "store/sqlite/job_dir.h"
#include "store/sqlite/journal_place.h"

namespace spate::store {

// kNotFound: no such job, or one that was never accepted: it ended before its tasks were stored. A
// run that is just being made is there, without tasks. A damaged job is a summary, not an error.
Result<JobSummary> SummarizeJob(const JobPlace& place, uint32_t number);

// The last row written of a run that no process has; nullopt also when it cannot be read.
std::optional<JobRow> RowOfIdle(const std::string& state_dir, uint32_t number);

// The command line, if stored, of a run that was never accepted and that nobody makes.
std::optional<JobRow> RowOfUnaccepted(const std::string& state_dir, uint32_t number);

// Those of `numbers` (ascending), the newest first, until `visit` returns false. What was never
// accepted, or is just being made, is left out. A run costs about 0.2 ms, a running or interrupted
// one 0.4 us more for each of its attempts; a hub's job 5 us (its settings are left out of its
// row).
Status VisitJobs(const JobPlace& place, std::span<const uint32_t> numbers,
                 const std::function<bool(const JobSummary&)>& visit);

// History::Newest. Costs a tenth of a microsecond for each job of all users, and 2 us for each that
// is returned.
Result<NewestJobs> NewestNumbers(const JobPlace& place, std::string_view user, size_t most);
// All, ascending.
Result<std::vector<uint32_t>> JobNumbers(const JobPlace& place);

// True if a journal can be read as frozen (OpenJournalToRead): no writer, and no log left.
bool IsFrozen(const JournalPlace& place);

}  // namespace spate::store
