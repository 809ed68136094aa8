// How much slower one of two jobs was beside the other.
#pragma once

#include <string>

#include "core/model/slowed.h"

namespace spate::present {

// "it moved 40 MB/s over the network while both were on node n1, and 80 MB/s alone". `self`: the
// job that the text is about, "it"; 0: none, so both have their numbers.
std::string SlowedText(const PartedFacts& parted, JobId self);

}  // namespace spate::present
