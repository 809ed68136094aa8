// The instructions of this very program.
#pragma once

#include <string_view>
#include <vector>

namespace spate::os {

// Its executable segments as they lie in memory, without those of shared libraries. They are as
// they are in its file, wherever it was loaded. The bytes live as long as the process.
std::vector<std::string_view> ProgramCode();

}  // namespace spate::os
