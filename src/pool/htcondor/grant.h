#pragma once

#include "pool/grant.h"

namespace spate::pool {

Grant GrantOfHtCondor(const GrantInput& input);

}  // namespace spate::pool
