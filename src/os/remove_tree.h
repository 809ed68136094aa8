// RemoveTree (os/file.h) for who may not wait.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace spate::os {

// Like RemoveTree, but removes `most` entries at most. False when more are left.
Result<bool> RemoveSomeOfTree(const std::string& path, uint64_t most);

}  // namespace spate::os
