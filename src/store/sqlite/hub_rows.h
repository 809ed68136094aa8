// The tables of nodes and credentials (store/hub_rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "store/hub_rows.h"
#include "store/sqlite/database.h"

namespace spate::store {

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
