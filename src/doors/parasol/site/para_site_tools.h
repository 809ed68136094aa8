// paraNodeStart, paraNodeStop and paraNodeStatus: the nodes of a site, from its hub's machine
// (doors/parasol/programs/site_programs.h). What they know of each node is in the hub's folder:
//
//   nodes/NAME   the node's kit (node_kit.h)
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace spate::parasol {

Result<int> RunParaNodeStart(std::span<const std::string> args);
Result<int> RunParaNodeStop(std::span<const std::string> args);
Result<int> RunParaNodeStatus(std::span<const std::string> args);

}  // namespace spate::parasol
