// Remains: what is left of a job of whose records some are lost, and a short history of it that an
// engine can replay.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine/record.h"

namespace spate::engine {

struct Remains {
  struct Task {
    bool leased = false;  // it may run, or have ended without a trace
    bool withdrawn = false;
    bool no_text = false;  // it cannot run
    uint16_t attempt = 0;  // the newest that it may have had
    std::optional<AttemptEnded> end;
  };
  bool open = false;
  std::optional<JobPlan> plan;  // none: nobody knows what the job was
  std::vector<Task> tasks;
  std::vector<Edge> edges;

  // The next record of the job that is left. One that does not fit changes nothing.
  void Apply(const Record& record);

  // The newest end of each task is kept, in the order of tasks. A task that is leased or has no
  // text is cancelled; the others wait, and the job is held. It needs a plan.
  struct History {
    std::vector<Record> records;  // all of the job
    JobCounts counts;
    bool goes_on = false;  // held; else it has finished
  };
  History Rewrite(JobId job, Instant held_at) const;
};

}  // namespace spate::engine
