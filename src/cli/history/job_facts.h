// What the history commands say about one job, as fields and as words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/history/call.h"
#include "cli/table/table.h"
#include "cli/view/json_line.h"
#include "store/sqlite/history.h"

namespace spate::cli {

void TimeOrNull(JsonLine& line, std::string_view key, std::optional<Instant> value);

struct JobFacts {
  store::JobSummary summary;
  JobCounts counts;              // now, also while it runs; all 0 when damaged
  std::optional<Duration> took;  // the newest run; nullopt when its end is not known
  bool is_hidden = false;        // only state, user, counts and times are for the caller
};
// Of a run that goes on or was interrupted the journal is read (0.4 us for each attempt); a hub
// keeps the counts of its jobs up to about a second.
Result<JobFacts> FactsOf(const HistoryCall& call, store::JobSummary summary);

// The keys that every line about a job has, from "job" on.
void AddJobFields(JsonLine& line, const JobFacts& facts);

Tone ToneOf(store::JobStanding standing);
// "spate run -j 8 list.txt", as it was typed; "spate submit ..." of a hub's job. Of the values
// behind a ::: no more than `values`, and how many more there are: "::: 1 2 3 (and 4,997 more
// values)".
std::string CommandLineOf(const store::JobSummary& job, size_t values = SIZE_MAX);

// What to type to go on with the job, or to run again what failed of it.
std::string ResumeCommandOf(const HistoryCall& call, const store::JobRow& row);
std::string RetryCommandOf(const HistoryCall& call, std::string_view selector);

// "1-3, 7 and 9"; at most `most` parts, then how many more there are.
std::string TaskNumbersText(const std::vector<TaskIndex>& indices, size_t most);

}  // namespace spate::cli
