// Checks of a task's output files, as Parasol has them, with patience for network file systems.
#pragma once

#include <string>

#include "core/model/body.h"

namespace spate::shepherd {

// Empty when `file` passes, else why not: "F does not exist", "F is empty",
// "F has an incomplete last line". Relative to the current folder. A folder exists and is not
// empty; "line" needs a file that can be read, and says "F cannot be read: ..." otherwise.
std::string WhyCheckFails(CheckKind kind, const char* file);

// True if a failed check may pass later without anybody writing: the file, or the nearest folder
// above it that exists, lies on a network file system. Looks afresh on every call.
bool MayAppearLate(const char* file);

// Opens and closes the folder of `file`: network file systems then fetch its attributes again.
void RefreshFolder(const char* file);

}  // namespace spate::shepherd
