// Greedy users of a simulated hub, each called u0. Their jobs come after those that the options
// say.
//
// A hoarder has a task that takes hardly anything of a node, for half an hour, of which nobody
// knows the end; and a gang that needs that node and all others.
//
// A cheat has a gang that needs all nodes, and either a task that is said to take 3 s and takes
// half an hour, or a node of its own, which the gang needs as well and which answers nothing.
//
// A glutton has pools: one that serves everybody, whose nodes its jobs would take whole, one after
// the other; and one of its own, with pilots that live for minutes only, for jobs that make a pool
// request pilots without end: larger than its nodes, gangs as large as the pool and larger, tasks
// that outlive each pilot, and tasks that need all of a pilot's life. It may have one more, without
// work, whose pilot must be there: it adds and removes that one all day.
#pragma once

#include <optional>
#include <vector>

#include "sim/options.h"
#include "sim/workload.h"

namespace spate::sim {

bool HasHoarder(const Options& options);
// The cheat's node, for so long; nullopt: it lies about times.
std::optional<Offer> SilentNodeOf(const Options& options);
inline constexpr Duration kCheatIsSilent = Duration::Seconds(900);

// The name of the user of greedy jobs.
const char* GreedyUser();

std::vector<SimPool> PoolsOfGlutton(const Options& options);
// Jobs without ids, each with one class of equal tasks. `pools`: as PoolsOfGlutton gave them.
std::vector<SimJob> JobsOfGlutton(const Options& options, const std::vector<SimPool>& pools);
std::vector<SimJob> JobsOfHoarder(const Options& options);
std::vector<SimJob> JobsOfCheat(const Options& options);

}  // namespace spate::sim
