#include "hub/pools/pilot_access.h"

#include <limits>

#include "access/proof.h"

namespace spate::hub {

PilotAccess::PilotAccess(std::string_view key, const Bytes32& pin)
    : key_(access::DeriveSecret(key, "spate pilots 1", 0)), pin_(pin) {}

std::optional<provision::PilotId> PilotAccess::PilotOf(uint64_t serial) {
  if (serial <= kFirstSerial || serial - kFirstSerial > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  return provision::PilotId(static_cast<uint32_t>(serial - kFirstSerial));
}

Bytes32 PilotAccess::SecretOf(provision::PilotId pilot) const {
  std::string_view key(reinterpret_cast<const char*>(key_.data()), key_.size());
  return access::DeriveSecret(key, "spate pilot 1", pilot.value);
}

}  // namespace spate::hub
