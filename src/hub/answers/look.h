// Facts that a hub shows of itself (core/model/facts.h).
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/model/facts.h"
#include "hub/answers/answers.h"

namespace spate::hub {

HubFacts FactsOfHub(const AnswerParts& parts);
// By number; removed nodes only when `removed`. Of what runs there the tasks of jobs that the
// caller may see.
std::vector<NodeFacts> FactsOfNodes(const Jobs& jobs, const Nodes& nodes, bool removed,
                                    const Caller& caller);
// Those at work first, at most so many nodes and jobs.
TopFacts FactsOfAll(const AnswerParts& parts, const Caller& caller, size_t most);
// By name; one user when there is a name.
std::vector<UserFacts> FactsOfUsers(const Jobs& jobs, const std::string& user);
// By serial.
std::vector<AccessFacts> FactsOfAccess(const Credentials& access, Instant now);

}  // namespace spate::hub
