// DeafClient: somebody who asks a simulated hub the dearest questions and reads no answer. The hub
// gives the one answer that fills the connection, and no other.
#pragma once

#include <memory>

#include "hub/client_port.h"
#include "os/loop.h"
#include "sim/faults.h"

namespace spate::sim {

// The hub's end. It asks `questions` times from when it is started on, and hangs up a minute later.
// Lasts as long as the hub keeps it; fails a CHECK when the hub says more than a window holds.
std::unique_ptr<hub::ClientPort> MakeDeafClient(os::Loop& loop, Faults& faults, int questions);

}  // namespace spate::sim
