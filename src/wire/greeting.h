// The first messages of a connection, and the sign of life. The peer that connects sends a
// Greeting; the hub answers with a Welcome, after which both may send what their roles allow, or
// with a Refusal, and closes. Their fields keep their meaning in every version, so that any two can
// tell each other why they do not fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/advice.h"
#include "base/ids.h"
#include "base/role.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "wire/limits.h"

namespace spate::wire {

inline constexpr uint32_t kProtocol = 3;        // what we speak
inline constexpr uint32_t kOldestProtocol = 3;  // what we still understand

// Features that a program understands beyond its protocol, by name. A peer that does not name a
// feature never gets messages that need it, since it would ignore the field and run something else.
inline constexpr const char* kFeatures[] = {
    "append",       "array-value", "cpus",     "forwards", "gangs",       "limits",     "links",
    "long-streams", "pmi",         "resident", "resize",   "shell-words", "task-limits"};
inline std::vector<std::string> OwnFeatures() {
  return {std::begin(kFeatures), std::end(kFeatures)};
}

using spate::Role;

inline constexpr size_t kInstanceBytes = 16;

struct Greeting {
  std::string product;  // version of the program, for people
  uint32_t protocol = kProtocol;
  uint32_t oldest_protocol = kOldestProtocol;
  Role role = Role::kNode;
  uint64_t serial = 0;  // of the credential; 0 on a local socket, which names the user itself
  std::string nonce;
  std::string proof;  // that the sender has the credential's secret, for this connection only
  // Nodes only: its name, and what it is known by among machines that bear the same: bytes that it
  // drew once and keeps.
  std::string node_name;
  std::string instance;
  std::vector<std::string> features = OwnFeatures();  // others' may be names that we do not know
  static constexpr uint64_t kTextBytes = kLimits.name_bytes;
  SPATE_MESSAGE(1, product, 2, Bound(protocol, .least = 1), 3, Bound(oldest_protocol, .least = 1),
                4, Bound(role, .least = 1), 5, serial,
                6, Bound(nonce, .most = kWireLimits.secret_bytes),
                7, Bound(proof, .most = kWireLimits.secret_bytes), 8, node_name,
                9, Bound(instance, .most = kInstanceBytes),
                10, Bound(features, .count = kWireLimits.features));
  friend bool operator==(const Greeting&, const Greeting&) = default;
};

struct Welcome {
  std::string product;
  uint32_t protocol = kProtocol;  // what both speak from now on
  Epoch epoch;
  NodeId node;  // the number of a node; 0 for others
  // A side of which nothing came for so long is gone for the other; 0: as each thinks fit.
  uint32_t silence_ms = 0;
  std::vector<std::string> features = OwnFeatures();
  // The hub's address for other machines: a host's number (0.0.0.0, ::: everywhere); empty:
  // nowhere.
  std::string listens_at = {};
  // After so long without a node the hub gives its tasks to others; 0: an older hub.
  uint64_t lost_after_ms = 0;
  static constexpr uint64_t kTextBytes = kLimits.name_bytes;
  SPATE_MESSAGE(1, product, 2, Bound(protocol, .least = kOldestProtocol, .most = kProtocol),
                3, Must(epoch), 4, node, 5, silence_ms,
                6, Bound(features, .count = kWireLimits.features), 7, listens_at,
                8, Bound(lost_after_ms, .most = kWireLimits.longest.millis()));
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

// The reaction that a program may choose; the reason is for people.
SPATE_ENUM(RefusalCode,
    kOther, "other",            // also what a newer hub says and we do not know
    kVersion, "version",        // no protocol in common
    kCredential, "credential",  // unknown, revoked or expired, or a wrong proof
    kRole, "role",              // the credential is for something else
    kName, "name",              // another node has this name
    kBusy, "busy",              // too many connections; try again later
    kBreach, "breach",          // not a message that may come here
    kRemoved, "removed");  // the node was removed from the hub: it is to end
constexpr RefusalCode UnknownOf(RefusalCode) { return RefusalCode::kOther; }

struct Refusal {
  RefusalCode code = RefusalCode::kOther;
  std::string reason;
  Remedy remedy = {};  // behind the reason
  SPATE_MESSAGE(1, code, 2, Bound(reason, .most = kWireLimits.note_bytes, .cut = true), 3, remedy);
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// It says nothing but that its sender is alive.
struct Heartbeat {
  SPATE_MESSAGE();
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// The newest protocol that a peer and we both understand; nullopt: none.
inline std::optional<uint32_t> CommonProtocol(uint32_t theirs, uint32_t their_oldest) {
  uint32_t newest = std::min(theirs, kProtocol);
  if (newest < std::max(their_oldest, kOldestProtocol)) return std::nullopt;
  return newest;
}

}  // namespace spate::wire
