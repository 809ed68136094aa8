#pragma once

#include "pool/grant.h"

namespace spate::pool {

Grant GrantOfPbs(const GrantInput& input);

}  // namespace spate::pool
