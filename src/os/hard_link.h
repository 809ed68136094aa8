// Another name of a file.
#pragma once

#include <string>

#include "base/result.h"

namespace spate::os {

// Makes `path` a second name of the file `target`, on the same file system. kExists: there is
// something of this name.
Status MakeHardLink(const std::string& target, const std::string& path);

}  // namespace spate::os
