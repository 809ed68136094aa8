// Role: what an access is for. The number enters its proof and messages.
#pragma once

#include "base/enum_list.h"

namespace spate {

SPATE_ENUM(Role,
    kNone, "none",      // no access has it
    kNode, "node",
    kClient, "client",
    kAdmin, "admin");

}  // namespace spate
