// paraNode: a node of a site (doors/parasol/programs/site_programs.h).
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace spate::apps {

Result<int> RunParaNode(std::span<const std::string> args);

}  // namespace spate::apps
