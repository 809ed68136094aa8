// `spate overseer`: as many slaves as the masters of resource files want, on a hub or on this
// machine (docs/user/overseer.md, docs/design/043-overseer.md).
#pragma once

#include <functional>

#include "base/result.h"
#include "client/hub_setting.h"
#include "doors/mw/overseer/options.h"

namespace spate::mw {

// The hub; kUnavailable: there is none.
using FindHub = std::function<Result<client::HubSetting>()>;

// Reports its own errors; returns the exit code.
int Oversee(OverseerOptions options, const FindHub& find_hub);

}  // namespace spate::mw
