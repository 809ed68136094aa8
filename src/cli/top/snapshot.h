// What a hub says of itself at one moment, for `spate top`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/model/job.h"

namespace spate::cli {

struct HubShot {
  uint64_t life = 0;
  Instant since;
  uint64_t nodes = 0, away = 0;
  uint64_t jobs = 0, queued = 0, running = 0;
  uint64_t ended = 0, failed = 0;  // attempts, in this life
};
struct NodeShot {
  std::string name, state, why;
  uint64_t slots = 0, tasks = 0, ended = 0, failed = 0;
  double used = 0;  // the part of it that is taken
};
struct JobShot {
  uint32_t job = 0;
  std::string user, state;
  std::optional<std::string> name;  // nullopt: it is not for us
  JobCounts counts;
};
struct Snapshot {
  HubShot hub;
  std::vector<NodeShot> nodes;  // in the order in which they are shown, perhaps not all
  std::vector<JobShot> jobs;
};

// From the lines that the hub answers with (docs/formats/json.md). What is not known is skipped.
// kInvalid: there is no line about the hub.
Result<Snapshot> ReadSnapshot(std::string_view lines);

}  // namespace spate::cli
