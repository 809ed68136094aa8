// Why a task is in the state it is in. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/history/live_tasks.h"
#include "cli/history/log_facts.h"
#include "core/model/job.h"
#include "store/sqlite/history.h"

namespace spate::cli {

struct TaskSituation {
  const store::JobSummary& job;
  const store::TaskSummary& task;
  const LogFacts& log;
  JobCounts counts;              // of the job
  std::optional<LiveTask> live;  // its processes, when they were found
  const JobSettings& settings;
  Instant now;
};

enum class Remedy : uint8_t { kNone, kRetry, kResume };

struct Explanation {
  // One word, stable: succeeded, tries-used, not-retried, losses, once, withdrawn, cancelled,
  // running, given, slot, retry-delay, held, stopped, interrupted.
  std::string reason;
  std::string text;  // a sentence without its point
  std::optional<Instant> retry_at;
  Remedy remedy = Remedy::kNone;
};

// `time` says when something was or will be.
Explanation Explain(const TaskSituation& situation,
                    const std::function<std::string(Instant)>& time);

}  // namespace spate::cli
