// `spate node stop`: ends a node of this machine, with its tasks, which run elsewhere then.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/main.h"
#include "shepherd/rendezvous.h"

namespace spate::daemon {

struct RunningNode {
  std::string name;
  std::string host;  // the machine's name when the node started
  shepherd::NodeProcess at;
};
// The nodes that run on this machine, called `host`, with folders below `state`. A folder of this
// host that is not trusted is an error if it is that of `wanted`, or if `wanted` is empty; others
// are skipped.
Result<std::vector<RunningNode>> NodesHere(const std::string& state, const std::string& host,
                                           const std::string& wanted);

int StopNode(const cli::Invocation& invocation);

}  // namespace spate::daemon
