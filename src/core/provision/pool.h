// Pools of a batch system (core/model/pool.h) as provision sees them. Numbers of pools and pilots
// are never used again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/class_demand.h"
#include "core/model/needs.h"
#include "core/model/pool.h"

namespace spate::provision {

using PoolId = Id<struct PoolTag>;    // from 1; 0 is none
using PilotId = Id<struct PilotTag>;  // from 1; 0 is none
using spate::ClassDemand;
using spate::ClassKey;
using spate::NodeShape;
using spate::PoolPolicy;
using spate::WatchTimes;

Offer OfferOf(const NodeShape& shape, std::string_view pool_name);

// True if the pool is for tasks of this user.
bool Serves(const PoolPolicy& policy, std::string_view user);
// The longest time that a task on a pilot's nodes may be planned to take.
Duration LongestTask(const PoolPolicy& policy);

// The name of a pilot's batch job, "spate-POOL-HUB-N": people see it in the batch system's lists.
// At most 60 characters (pool/driver.h, ValidTag); of a longer pool name its beginning. `hub` is up
// to 6 letters or digits, and different for each hub of a user.
std::string TagOf(std::string_view hub, std::string_view pool, PilotId pilot);
// Prefix of the tags of all pilots of this pool; pools of names that begin alike may share it.
std::string TagPrefix(std::string_view hub, std::string_view pool);
std::optional<PilotId> PilotOfTag(std::string_view hub, std::string_view tag);
// The pilot's number in the name of its node, POOL.N or POOL.N.HOST. nullopt: a name of another
// form.
std::optional<PilotId> PilotNumberIn(std::string_view name);

}  // namespace spate::provision
