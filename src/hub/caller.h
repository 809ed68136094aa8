// Callers of a hub: a guest, as its door knows it, and the caller that the hub finds it to be.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes32.h"
#include "core/provision/pool.h"
#include "wire/greeting.h"

namespace spate::hub {

// A peer that wants to come in, known by its credential or by the operating system.
struct Guest {
  wire::Greeting greeting;
  std::string peer;                         // its address, for people
  std::optional<uint32_t> local_user = {};  // on this machine: the number of the user over there
  std::string user = {};                    // that user's name; empty when the machine has none
  // True if the peer has the credential with this secret. Null: it has none.
  std::function<bool(const Bytes32& secret)> proves = nullptr;

  bool Proves(const Bytes32& secret) const { return proves && proves(secret); }
};

struct Caller {
  std::string user;  // of a node: whose tasks it takes; "*": everybody's
  bool is_admin = false;
  bool is_owner = false;  // the user whom the hub runs as: its nodes are as many as there are
  uint64_t serial = 0;    // of the credential; 0: known by the system
  provision::PilotId pilot = {};  // 0: it is no node of one
};

// More than counts may be shown to them of a job of this user.
inline bool MaySee(const Caller& caller, const std::string& user) {
  return caller.is_admin || caller.user == user;
}

}  // namespace spate::hub
