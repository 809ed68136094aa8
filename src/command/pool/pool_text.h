// Texts about pools, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/hub_screen.h"
#include "core/model/pool_facts.h"

namespace spate::cli {

// A pool's plan for when there is work: "up to 10 pilots, ...".
std::string PlanOf(const PoolPolicy& pool);
// "lab", "lab and pc", "lab and 2 others"
std::string NamesText(const std::vector<std::string>& names);

std::string TableOf(const HubScreen& screen, const std::vector<PoolFacts>& pools);
std::string PageOf(const HubScreen& screen, const PoolFacts& pool);
std::string LogOf(const HubScreen& screen, const std::vector<PoolEvent>& events);
// `tested`: a test was asked for.
std::string TrialText(const PoolTrial& trial, bool tested);

}  // namespace spate::cli
