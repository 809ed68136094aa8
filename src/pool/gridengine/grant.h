#pragma once

#include "pool/grant.h"

namespace spate::pool {

Grant GrantOfGridEngine(const GrantInput& input);

}  // namespace spate::pool
