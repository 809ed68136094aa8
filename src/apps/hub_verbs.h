// What the program that runs the hub knows beside it, for what answers commands.
#pragma once

#include "apps/parasol_site.h"

namespace spate::apps {

struct HubExtras {
  const ParasolSite* parasol = nullptr;  // null unless paraHub started it
};

}  // namespace spate::apps
