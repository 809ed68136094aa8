// Facts of tasks that several answers tell.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/engine/engine.h"
#include "core/model/job_facts.h"
#include "hub/nodes.h"
#include "hub/pools/pools.h"

namespace spate::hub {

// A task that waits for a node may wait for a pilot. `request`: its request, if known.
void AddPools(const engine::Engine& engine, const Pools& pools, JobId job,
              const std::optional<TaskClass>& request, Why& why);

using RunsOfJob = std::map<TaskIndex, std::vector<RunningFacts>>;
// Places of wanted tasks that nodes have told to run, up to `most` in all. Cost: the slots of the
// nodes that have told of the job's tasks.
RunsOfJob RunsOf(const engine::Engine& engine, const Nodes& nodes, JobId job,
                 const std::function<bool(const AttemptRef&)>& is_wanted, size_t most = SIZE_MAX);

}  // namespace spate::hub
