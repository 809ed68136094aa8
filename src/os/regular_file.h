// Opening what must be a regular file, without waiting for anything else that has its name.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

// Opens a regular file, or a device if allowed. kWriting and kAppending make a missing file,
// kAppending its folders as well; kWriting can also read. kInvalid: it is something else, because
// opening a named pipe could take for ever. kPermission: a link of another user leads there.
enum class RegularFor : uint8_t { kReading, kWriting, kAppending };
enum class Devices : uint8_t { kRefuse, kAllow };
Result<Fd> OpenRegularFile(const std::string& path, RegularFor what,
                           Devices devices = Devices::kRefuse);

// Opens a file to read that this user or root wrote, and nobody else can have changed. kPermission:
// it is another user's, others may write it, or it is a link or not a regular file.
Result<Fd> OpenOwnFile(const std::string& path);

}  // namespace spate::os
