// Files of stderr that jobs of Parasol leave in their node's folder for temporary files.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/time.h"

namespace spate::apps {

// Removes the files paraID.err in `dir` that nobody has written to since `before`, but for those of
// jobs that run. Links are left alone, and what cannot be removed stays.
void RemoveOldErrors(const std::string& dir, Instant before, const std::set<uint64_t>& running);

}  // namespace spate::apps
