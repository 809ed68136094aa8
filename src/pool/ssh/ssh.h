// A host that ssh reaches. Needs OpenSSH here, of version 6.7 or newer.
#pragma once

#include <memory>

#include "pool/driver.h"

namespace spate::pool {

std::unique_ptr<PoolDriver> MakeSsh(Tools tools);

}  // namespace spate::pool
