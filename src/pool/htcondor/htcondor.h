// HTCondor: condor_submit, condor_q, condor_rm. Of version 9.4 or newer.
#pragma once

#include <memory>

#include "pool/driver.h"

namespace spate::pool {

std::unique_ptr<PoolDriver> MakeHtCondor(Tools tools);

}  // namespace spate::pool
