// A word on a node that is not as it should be.
#pragma once

#include <string>

#include "core/model/facts.h"

namespace spate::present {

// Why it is sick or set aside, or that the hub refuses it; empty: nothing to say.
std::string NodeNote(const NodeFacts& node);

}  // namespace spate::present
