// Rows that a hub keeps and that belong to no job: the nodes that ever joined, the credentials that
// it gave out, and what happened to its pools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "core/provision/record.h"

namespace spate::store {

struct NodeRow {
  NodeId id;
  std::string name;      // unique among all, those that were removed too
  std::string instance;  // of the process that joined last by this name
  std::string user;      // who started it
  Instant created;
  bool removed = false;
  // It had been away for long, and was forgotten but for its name: tasks that ran there are kept.
  std::optional<Instant> forgotten;
  bool damaged = false;  // as it was read: none of it is sure but the number
};

struct CredentialRow {
  uint64_t serial = 0;  // from 1
  std::string role;     // "node", "client", "admin"
  std::string user;
  std::string secret;  // bytes; never shown
  Instant created;
  std::optional<Instant> expires;
  std::optional<Instant> revoked;
};

struct PoolLogRow {
  Instant at;  // when it was decided, in whole microseconds
  provision::Record record;
};

}  // namespace spate::store
