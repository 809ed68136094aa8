// What programs share that bring what a hub's journal tells of a job into files of the user, a part
// of it at each call: how far they are, and that one does it at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "client/hub_call.h"
#include "os/file.h"

namespace spate::client {

// All ends of the hub's job `created` up to `position` are there; of a file that only grows, within
// its first `bytes`.
struct Place {
  uint64_t position = 0;
  int64_t created = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
// "position P created C bytes B", as a line.
std::string FormatPlace(const Place& place);
// Of the file at `path`. What is not there, or cannot be read, is the beginning.
Place ReadPlace(const std::string& path);

// Waits until nobody else has the lock; kBusy: somebody has it for longer than this. An interrupted
// call ends the wait.
Result<os::FileLock> AwaitLock(HubCall& call, os::RealLoop& loop, const std::string& path,
                               Duration patience);

}  // namespace spate::client
