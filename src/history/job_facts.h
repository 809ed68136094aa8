// A job as facts (core/model/job_facts.h), from its summary.
#pragma once

#include "base/result.h"
#include "core/model/job_facts.h"
#include "history/source.h"
#include "store/history.h"

namespace spate::history {

// The journal of a running or interrupted run is read (0.4 us for each attempt); a hub keeps the
// counts of its jobs up to about a second. Without `whole` argv and files are left out.
Result<JobFacts> FactsOf(const Source& source, const store::JobSummary& summary, bool whole);

}  // namespace spate::history
