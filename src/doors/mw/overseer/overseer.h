// `spate overseer`: as many slaves as the masters of resource files want, on a hub or on this
// machine (docs/user/overseer.md, docs/design/043-overseer.md).
#pragma once

#include <functional>

#include "base/result.h"
#include "cli/main.h"
#include "client/hub_setting.h"

namespace spate::mw {

// The hub that the words mean; kUnavailable: there is none.
using FindHub = std::function<Result<client::HubSetting>(const cli::Words&)>;

int Oversee(const cli::Invocation& invocation, const FindHub& find_hub);

}  // namespace spate::mw
