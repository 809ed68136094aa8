// The shared libraries of this process.
#pragma once

#include <string>
#include <vector>

namespace spate::os {

// Absolute paths of the libraries that are loaded now, by the names under which the loader looks
// for them; without those in the system's folders (/lib, /usr/lib and their like), which belong to
// the machine. Empty for a static program.
std::vector<std::string> LoadedLibraries();

}  // namespace spate::os
