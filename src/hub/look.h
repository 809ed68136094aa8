// What a hub tells of itself, as facts (core/model/facts.h).
//
// Thread: the loop's.
#pragma once

#include <string>
#include <vector>

#include "core/model/facts.h"
#include "hub/credentials.h"
#include "hub/service.h"

namespace spate::hub {

HubFacts FactsOfHub(const Service& service);
// By number; of those that were removed only when `removed`.
std::vector<NodeFacts> FactsOfNodes(const Service& service, bool removed = false);
// Those at work first, at most so many nodes and jobs.
TopFacts FactsOfAll(const Service& service, const Caller& caller, size_t most);
// By name; of one user when there is a name.
std::vector<UserFacts> FactsOfUsers(const Service& service, const std::string& user);
// By serial.
std::vector<AccessFacts> FactsOfAccess(const Service& service);

}  // namespace spate::hub
