#pragma once

#include "pool/grant.h"

namespace spate::pool {

Grant GrantOfSlurm(const GrantInput& input);

}  // namespace spate::pool
