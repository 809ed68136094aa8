// Collector: appends the data that a hub job's tasks have forwarded to the files that they share
// here, as the user who requests it: the hub never writes into users' folders. Each task's data is
// appended once, however often it is requested and whatever is killed; the position is kept below
// the state folder (docs/formats/files.md).
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
