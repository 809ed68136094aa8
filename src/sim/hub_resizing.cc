// People who change what tasks of their jobs may use, whatever these do by then.
#include "sim/hub_people.h"
#include "sim/options.h"

namespace spate::sim {

// Draws nothing of what other people do: worlds without it stay as they are.
void HubPeople::ResizeSome(const SimJob& job) {
  Prng prng(Derive(Derive(parts_.options.seed, 74), job.id.value));
  const Duration longest = std::min(span_ * 2, Duration::Seconds(600));
  while (prng.Chance(80)) {
    TaskSize to;
    // Each node has room for that: a task that none has room for waits for ever.
    if (prng.Chance(70)) to.milli_cpus = static_cast<uint32_t>(250 << prng.Below(3));
    if (prng.Chance(50)) to.memory = (uint64_t{1} + prng.Below(4)) << 28;
    if (to.empty()) continue;
    const auto first = static_cast<uint32_t>(1 + prng.Below(job.totals.back()));
    const auto last = first + static_cast<uint32_t>(prng.Below(6));
    const bool whole = prng.Chance(30);
    const Duration wait{static_cast<int64_t>(prng.Below(static_cast<uint64_t>(longest.ns) + 1))};
    Query(job.user, wait, OfUnended(job.id, [id = job.id, first, last, whole, to] {
            wire::ResizeTasks asked{.to = to};
            if (whole) asked.jobs.ranges = {{id.value, id.value}};
            if (!whole) asked.tasks = {{.job = id.value, .ranges = {{first, last}}}};
            return asked;
          }));
  }
}

}  // namespace spate::sim
