// Opening what must be a regular file, without waiting for anything else that has its name.
#pragma once

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

// Made when missing, kept as it is; with `append` every write goes to the end. kInvalid when it is
// something else: opening a named pipe could take for ever.
Result<Fd> OpenRegularFile(const std::string& path, bool append);

// For reading what this user wrote, and nobody else can have changed. kPermission: it is another
// user's, or others may write it, or it is no regular file, or a link.
Result<Fd> OpenOwnFile(const std::string& path);

}  // namespace spate::os
