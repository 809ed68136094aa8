// What the tasks of a hub's job have forwarded goes into the files that they share here, by the
// user who asks for it: the hub never writes into users' folders. Each task's data is appended
// once, however often it is asked for and whatever is killed; how far that came stands below the
// state folder (docs/formats/files.md).
#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "client/hub_call.h"
#include "client/hub_setting.h"

namespace spate::submit {

struct Collected {
  uint64_t tasks = 0;    // whose data was appended
  uint64_t damaged = 0;  // whose data cannot be read; told
};
// Paths count from `folder`. Waits for another process that does the same, a moment.
Result<Collected> CollectForwards(client::HubCall& call, const client::HubSetting& setting,
                                  JobId job, const std::string& folder);

}  // namespace spate::submit
