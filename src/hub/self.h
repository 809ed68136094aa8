// Self: what this life of a hub is, for answers and for its program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes32.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/model/facts.h"
#include "os/address.h"

namespace spate::hub {

struct Self {
  std::string dir;  // of the hub, absolute
  std::string product;
  Bytes32 pin = {};  // by which the network knows the hub's key
  Epoch epoch;
  Instant since;                     // by the loop's clock
  std::optional<ClockChange> clock;  // HubFacts::clock
  // For access files: how others reach it. Empty: only by the socket in `dir`.
  std::vector<os::Address> reached_at = {};
};

}  // namespace spate::hub
