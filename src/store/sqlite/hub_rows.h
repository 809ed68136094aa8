// Rows of a hub's journal that belong to no job: the nodes that ever joined, and the credentials
// that it gave out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "store/sqlite/database.h"

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

// The tables' writers: a row replaces the one with its id or serial. Within the caller's
// transaction.
Status WriteNode(Database& db, const NodeRow& row);
Status WriteCredential(Database& db, const CredentialRow& row);

// Ascending by id and serial. A credential that is damaged proves nothing: it is left out.
Result<std::vector<NodeRow>> ReadNodeRows(Database& db);
// kNotFound: there is none of this name.
Result<NodeRow> ReadNodeRow(Database& db, const std::string& name);
// Removes the rows of nodes that were forgotten before `before`; the newest stays, so that no
// number is given out twice.
struct NodesForgotten {
  Instant before;
};
Status RemoveNodes(Database& db, const NodesForgotten& which);
Result<std::vector<CredentialRow>> ReadCredentialRows(Database& db);

}  // namespace spate::store
