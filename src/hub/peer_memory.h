// PeerMemory: the hub's memory for its users' messages: requests, uploads, and their nodes' offers
// and states. Each user has a bound, and all users together have another one.
// docs/formats/limits.md has a table of what counts, and how much.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "wire/client_messages.h"

namespace spate::hub {

struct PeerLimits {
  uint64_t of_user = 112u << 20;  // an upload of Limits::edges_per_job fits
  uint64_t of_all = 256u << 20;   // beyond it, each user may have `least`
  uint64_t least = 4u << 20;
  uint64_t settings_bytes = 16u << 20;  // jobs' settings that are read for nodes
  uint64_t pool_bytes = 1u << 20;       // a pool's settings, as text
};
inline constexpr PeerLimits kPeerLimits;

class PeerMemory {
 public:
  // An item of the user now takes `bytes` instead of `before`, which is set to it.
  void Set(const std::string& user, size_t& before, size_t bytes);
  // kBusy: the user is over a bound. Nodes that serve all users belong to an administrator, and
  // have no bound.
  Status Check(const std::string& user) const;
  uint64_t of(const std::string& user) const;

 private:
  std::map<std::string, uint64_t> users_;  // those with something
  uint64_t all_ = 0;
};

// Memory of a client's request with its turn, its timers and its listener.
inline constexpr size_t kMemoryOfRequest = 2560;
// The same, and the kept part of its first message.
size_t MemoryOf(const wire::Request& request);

}  // namespace spate::hub
