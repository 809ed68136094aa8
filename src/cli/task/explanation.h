// Why a task is in the state it is in. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/model/job_facts.h"

namespace spate::cli {

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
Explanation Explain(const TaskDetails& task, bool on_hub, Instant now,
                    const std::function<std::string(Instant)>& time);

}  // namespace spate::cli
