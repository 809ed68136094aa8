// The file that a command's name stands for.
#pragma once

#include <string>
#include <string_view>

namespace spate::os {

// The first executable file of this name in the folders of `path` (as PATH has them), which are
// relative to `cwd`; empty: there is none. Looks at the disk, and so may block.
std::string FindProgram(std::string_view name, std::string_view path, const std::string& cwd = "");

// The file of bash: /bin/bash, else the first one in this process's PATH; empty: there is none.
std::string FindBash();

}  // namespace spate::os
