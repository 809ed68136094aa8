// Why a task is in the state it is in. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/model/job_facts.h"
#include "core/model/why.h"

namespace spate::cli {

enum class Remedy : uint8_t { kNone, kRetry, kResume };

struct Explanation {
  // One word, stable: see `explanation` in docs/formats/json.md.
  std::string reason;
  std::string text;  // a sentence without its point
  std::optional<Instant> retry_at;
  Remedy remedy = Remedy::kNone;
};

struct Viewpoint {
  bool on_hub = false;
  Instant now;
  std::function<std::string(Instant)> time;  // says when something was or will be
  std::string reach;                         // as in present::TextOf
};
// `waits`: what the hub or the run says of a task that has not ended; empty: it was not asked.
Explanation Explain(const TaskDetails& task, const Why& waits, const Viewpoint& from);

}  // namespace spate::cli
