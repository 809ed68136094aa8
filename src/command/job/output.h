// Output of tasks: which streams a command prints, and where each piece goes.
#pragma once

#include <optional>

#include "base/result.h"
#include "command/history_call.h"
#include "core/model/job_facts.h"
#include "wire/questions.h"

namespace spate::cli {

// --stream. Both go where they belong; one alone goes to standard output.
Result<wire::Streams> StreamsOf(const Words& words);
// Its bytes.
void PutBytes(HistoryCall& call, wire::Streams streams, const OutputFacts& piece);

// --follow: the last `lines` of a hub's job (UINT64_MAX: all), and what its tasks write as they
// end, until the job has.
Result<int> FollowOutput(HistoryCall& call, uint64_t lines);
// --rank
Result<std::optional<uint32_t>> RankOf(const Words& words, const Option& option);
// The one job that the words name (default: last).
Result<JobSelector> SelectOneJob(const Words& words);

}  // namespace spate::cli
