// Changes of a pool (core/model/pool.h) that people ask for.
#pragma once

#include <memory>

#include "base/result.h"
#include "core/model/pool.h"
#include "pool/driver.h"

namespace spate::hub {

// Makes the change, or fails and changes nothing. kInvalid says which option is wrong.
Status Change(PoolPolicy& pool, const PoolChange& change);
Result<std::unique_ptr<pool::PoolDriver>> DriverOf(const PoolSettings& settings);

}  // namespace spate::hub
