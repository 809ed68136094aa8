// Files that root makes for others. From any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::os {

// A new file with these bytes that nobody but `user` can read, in a folder that only this process'
// user can change; one of that name that was there is gone. Only root can make one for another
// user.
Status WriteFileFor(uint32_t user, const std::string& path, std::string_view bytes);

// A new folder that nobody but `user` can enter, in such a folder. kExists: there is one.
Status MakeDirFor(uint32_t user, const std::string& path);

}  // namespace spate::os
