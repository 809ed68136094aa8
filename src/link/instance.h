// Instance: what tells a node that started again from another machine that has its name.
#pragma once

#include <string>

#include "base/result.h"

namespace spate::link {

// The wire::kInstanceBytes of the file at `path`, in the node's state folder; drawn at random and
// written there when it is missing.
Result<std::string> LoadOrMakeInstance(const std::string& path);

}  // namespace spate::link
