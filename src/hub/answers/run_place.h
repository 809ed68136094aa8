// The node of a running task, for questions that its node answers.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "core/engine/engine.h"
#include "core/model/attempt.h"
#include "hub/nodes.h"

namespace spate::hub {

// The node that has this attempt, of a gang the one whose part has the rank. `ranks` becomes the
// number of ranks in the gang, 0 for none. kInvalid: there is no such rank. Cost: the nodes.
Result<std::optional<NodeId>> NodeOfRank(const engine::Engine& engine, const Nodes& nodes,
                                         const AttemptRef& ref, uint32_t rank, uint32_t& ranks);

}  // namespace spate::hub
