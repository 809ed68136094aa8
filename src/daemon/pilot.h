// A pilot: a node inside an allocation of a batch system (`spate node start --pilot`). It offers
// what the allocation grants, and goes before that ends. Over several hosts the first one starts a
// node on each and is none itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/hub_options.h"
#include "os/environment.h"
#include "os/machine.h"
#include "pool/grant.h"

namespace spate::daemon {

// Called by a pilot's first program, before it looks at its environment: finds what the pool's
// prologue has changed (pool/prologue.h), and logs it.
Status TakePrologue();

// The batch system's grant to this process; nullopt: it runs under none, or on one host without
// any information.
std::optional<pool::Grant> ReadGrant(const os::Environment& environment);

// Puts what is granted where the options leave it open, and the name of the host behind the name of
// a node that is one of several.
void ApplyGrant(const pool::Grant& grant, const os::Environment& environment,
                const std::string& host, Instant now, cli::NodeOptions& options);

// Starts a node by each of these and waits for them; signals that end a node are handed on. The
// exit code of the first that failed.
Result<int> RunLaunches(const std::vector<pool::Launch>& launches,
                        const std::vector<std::string>& node_command);

}  // namespace spate::daemon
