// Pools as people wish them: their policy (core/provision/pool.h) and what their driver is to do
// (pool/settings.h).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "core/model/pool_facts.h"
#include "core/provision/pool.h"
#include "pool/driver.h"
#include "pool/settings.h"

namespace spate::hub {

struct PoolForm {
  provision::PoolPolicy policy;
  pool::PoolSettings settings;  // the policy holds its bytes
};

// The form of a policy that a hub has kept. kCorrupt: it is none of ours.
Result<PoolForm> FormOf(const provision::PoolPolicy& policy);
// Puts what is wished over what is there. kInvalid says which option is wrong. The policy's
// `driver` follows the settings.
Status Change(PoolForm& form, const PoolWish& wish);
Result<std::unique_ptr<pool::PoolDriver>> DriverOf(const pool::PoolSettings& settings);

}  // namespace spate::hub
