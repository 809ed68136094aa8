// Words about pools, shared by the commands that show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/pool_facts.h"

namespace spate::present {

// Why it does not do all that it could; empty: it does.
std::string WhyOf(const PoolFacts& pool);

// For tasks of `submit --pool NAME`: whether there is such a pool, or group, and it is to stay.
// `reach` as in present/advice.h.
Status CheckPoolOfSubmit(const std::vector<PoolFacts>& pools, std::string_view name,
                         std::string_view reach);

// The pools of a group as one, in the place of its first one, by the name of the group: sums, and
// the state of those that are on when any is, with what is wrong with the others.
std::vector<PoolFacts> ByGroup(const std::vector<PoolFacts>& pools);

}  // namespace spate::present
