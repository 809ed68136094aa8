// Command lines of `spate submit` and `spate job add`, parsed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/options/run_options.h"

namespace spate::cli {

enum class AfterHow : uint8_t { kOk = 0, kAny = 1, kFail = 2, kEach = 3 };
struct AfterJob {
  std::string job;  // a number or "last"
  AfterHow how = AfterHow::kOk;
};
Result<AfterJob> ParseAfter(std::string_view value);

Result<int> ParsePriority(std::string_view value);
Result<uint32_t> ParseJobWeight(std::string_view value);

struct SubmitOptions {
  RunOptions run;
  bool wait = false;
  bool progress = false;
  bool open = false;
  std::vector<AfterJob> after;
  int priority = 0;
  uint32_t max_running = 0;  // 0: no bound
  uint32_t weight = kJobWeight;
  std::vector<std::string> environment;  // --env as typed: all, none, NAME, NAME=VALUE
  std::string key;                       // --key; empty: none
  std::string notify;                    // --notify; empty: none
  std::string pool;                      // --pool, which run.needs has as a label; empty: none
  std::string job;                       // job add: the one that grows
};

// The change that `job set` makes; not empty.
Result<JobChange> MakeJobChange(const Words& words, Instant now);

// The same as MakeRunOptions, with the options of a submit.
Result<SubmitOptions> FillOptions(const Words& words);
// The same for a hub: the needs have the nodes that were named.
Result<SubmitOptions> MakeSubmitOptions(const Words& words);

// The variables that tasks get: all of this process's (`all`) but for --env none, then those named.
// kInvalid: a NAME alone that is not set.
Result<std::vector<std::string>> CaptureEnvironment(const std::vector<std::string>& typed,
                                                    const std::vector<std::string>& all);

}  // namespace spate::cli
