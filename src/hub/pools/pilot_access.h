// PilotAccess: the credentials of pilots. None is kept: a pilot's secret follows from the hub's key
// and the pilot's number, and it is good for as long as the pilot may exist.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes32.h"
#include "core/provision/pool.h"

namespace spate::hub {

class PilotAccess {
 public:
  // `key` is the hub's private one, `pin` that of its public one.
  PilotAccess(std::string_view key, const Bytes32& pin);

  // The numbers of credentials that people are given are far below.
  static constexpr uint64_t kFirstSerial = uint64_t{1} << 32;
  static uint64_t SerialOf(provision::PilotId pilot) { return kFirstSerial + pilot.value; }
  // nullopt: no pilot has this number.
  static std::optional<provision::PilotId> PilotOf(uint64_t serial);

  Bytes32 SecretOf(provision::PilotId pilot) const;
  // Pin of the hub's key; the addresses that its nodes call are elsewhere.
  const Bytes32& pin() const { return pin_; }

 private:
  Bytes32 key_;
  Bytes32 pin_;
};

}  // namespace spate::hub
