// The batch systems that there are, by name.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "os/environment.h"
#include "pool/driver.h"
#include "pool/grant.h"

namespace spate::pool {

// "slurm", "gridengine", "pbs", "htcondor", "ssh", "local".
std::span<const std::string_view> DriverNames();
// kNotFound with the names that there are.
Result<std::unique_ptr<PoolDriver>> MakeDriver(std::string_view name, Tools tools);

// The batch system's grant to this process; nullopt outside of one. Any texts are accepted: values
// that cannot be read are missing.
std::optional<Grant> GrantOf(const os::Environment& environment, std::span<const GrantFile> files);

}  // namespace spate::pool
