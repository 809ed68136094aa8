// This machine: pilots are processes beside the hub, and go on when it ends.
#pragma once

#include <memory>

#include "pool/driver.h"

namespace spate::pool {

std::unique_ptr<PoolDriver> MakeLocal(Tools tools);

}  // namespace spate::pool
