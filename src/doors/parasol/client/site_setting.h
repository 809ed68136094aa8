// How Parasol's programs reach their hub.
#pragma once

#include "client/hub_setting.h"

namespace spate::parasol {

// A site's hub is started with its machines, and never as an ordinary one was.
inline client::StartLine SiteStart() { return {.text = "paraHub MACHINELIST", .restarts = false}; }

Result<client::HubSetting> FindSiteSetting();

}  // namespace spate::parasol
