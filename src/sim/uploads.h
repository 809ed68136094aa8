// Uploads: the messages by which the users of a simulated hub submit jobs and add tasks to them;
// and by which somebody without rights or manners tries what must not succeed.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "base/prng.h"
#include "sim/sabotage.h"
#include "sim/workload.h"
#include "wire/client_messages.h"

namespace spate::sim {

using Requests = std::deque<wire::Request>;

// Numbers from here on are of jobs that the workload does not have.
constexpr uint32_t kOtherJobs = 1'000'000;

class Uploads {
 public:
  // `workload` outlives it.
  Uploads(const Workload& workload, Sabotage sabotage, uint64_t seed)
      : workload_(workload), sabotage_(sabotage), prng_(seed) {}

  // The job as it is submitted first. Without its deadlines when `deadlines` is false, also later.
  Requests Submission(const SimJob& job, bool deadlines);
  // Tasks `from` to `total` - 1.
  Requests Addition(const SimJob& job, uint32_t from, uint32_t total);
  // A submission of somebody else, no part of which may be accepted.
  Requests Mischief();

 private:
  wire::Submit Head(const SimJob& job) const;
  std::vector<TaskClass> RequestsOf(const SimJob& job) const;
  Requests Messages(const SimJob& job, wire::Submit head, TaskIndex first, uint32_t count);

  const Workload& workload_;
  const Sabotage sabotage_;
  Prng prng_;
  std::set<JobId> hopeless_;  // jobs that are submitted without their deadlines
};

}  // namespace spate::sim
