// Code that the loader put into this process: the program's own, and shared libraries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spate::os {

// The program's executable segments as they are in memory, without those of shared libraries. They
// are as in its file, wherever it was loaded. The bytes live as long as the process.
std::vector<std::string_view> ProgramCode();

// Absolute paths of the libraries that are loaded now, by the names under which the loader looks
// for them; without those in the system's folders (/lib, /usr/lib and their like), which belong to
// the machine. Empty for a static program.
std::vector<std::string> LoadedLibraries();

}  // namespace spate::os
