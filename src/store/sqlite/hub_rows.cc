#include "store/sqlite/hub_rows.h"

#include <fmt/format.h>

#include <utility>

#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kWriteNode =
    "INSERT INTO node(id, name, instance, user, created_us, removed) VALUES(?,?,?,?,?,?) "
    "ON CONFLICT(id) DO UPDATE SET name=excluded.name, "
    "instance=excluded.instance, user=excluded.user, created_us=excluded.created_us, "
    "removed=excluded.removed";
constexpr std::string_view kReadNodes =
    "SELECT id, name, instance, user, created_us, removed, {} FROM node ";
constexpr std::string_view kRemoveNodes =
    "DELETE FROM node WHERE removed > 1 AND removed < ? AND id < (SELECT MAX(id) FROM node)";
constexpr std::string_view kWriteCredential =
    "INSERT OR REPLACE INTO credential(serial, role, user, secret, created_us, expires_us, "
    "revoked_us) VALUES(?,?,?,?,?,?,?)";
constexpr std::string_view kReadCredentials =
    "SELECT serial, role, user, secret, created_us, expires_us, revoked_us FROM credential "
    "WHERE {} ORDER BY serial";

void BindTime(Statement& s, int at, const std::optional<Instant>& time) {
  if (time) {
    s.Bind(at, time->ns / 1000);
  } else {
    s.BindNull(at);
  }
}

std::optional<Instant> TimeOf(const Statement& s, int column) {
  if (s.IsNull(column)) return std::nullopt;
  return Instant{s.Nanos(column)};
}

template <typename Row, typename FromColumns>
Result<std::vector<Row>> ReadRows(Database& db, std::string_view sql, FromColumns from_columns) {
  auto statement = TRY(db.Prepare(sql));
  std::vector<Row> rows;
  for (;;) {
    auto more = TRY(statement.Step());
    if (!more) return rows;
    rows.push_back(from_columns(statement));
  }
}

}  // namespace

Status WriteNode(Database& db, const NodeRow& row) {
  auto prepared = TRY(db.Prepare(kWriteNode));
  Statement& s = prepared;
  s.Bind(0, row.id.value);
  s.BindText(1, row.name);
  s.BindText(2, row.instance);
  s.BindText(3, row.user);
  BindTime(s, 4, row.created);
  s.Bind(5, row.forgotten ? row.forgotten->ns / 1000 : row.removed ? 1 : 0);
  return s.RunOnce();
}

Status WriteCredential(Database& db, const CredentialRow& row) {
  auto prepared = TRY(db.Prepare(kWriteCredential));
  Statement& s = prepared;
  s.Bind(0, static_cast<int64_t>(row.serial));
  s.BindText(1, row.role);
  s.BindText(2, row.user);
  s.BindBlob(3, row.secret);
  BindTime(s, 4, row.created);
  BindTime(s, 5, row.expires);
  BindTime(s, 6, row.revoked);
  return s.RunOnce();
}

namespace {

// The column `removed` is 1, or when the node was forgotten.
NodeRow NodeFromColumns(const Statement& s) {
  NodeRow row{.id = NodeId(static_cast<uint32_t>(s.Int(0))),
              .name = s.Text(1),
              .instance = s.Text(2),
              .user = s.Text(3),
              .created = Instant{s.Nanos(4)},
              .removed = s.Int(5) == 1,
              .forgotten = {},
              .damaged = s.Int(6) == 0};
  if (s.Int(5) > 1) row.forgotten = Instant{s.Nanos(5)};
  return row;
}

}  // namespace

Result<std::vector<NodeRow>> ReadNodeRows(Database& db) {
  std::string sql = fmt::format(kReadNodes, IsSound("node")) + "ORDER BY id";
  return ReadRows<NodeRow>(db, sql, NodeFromColumns);
}

Result<NodeRow> ReadNodeRow(Database& db, const std::string& name) {
  auto statement = TRY(db.Prepare(fmt::format(kReadNodes, IsSound("node")) + "WHERE name = ?"));
  statement.BindText(0, name);
  auto found = TRY(statement.Step());
  if (!found) return Fail(ErrorKind::kNotFound, fmt::format("there is no node '{}'", name));
  return NodeFromColumns(statement);
}

Status RemoveNodes(Database& db, const NodesForgotten& which) {
  auto statement = TRY(db.Prepare(kRemoveNodes));
  BindTime(statement, 0, which.before);
  return statement.RunOnce();
}

Result<std::vector<CredentialRow>> ReadCredentialRows(Database& db) {
  std::string sql = fmt::format(kReadCredentials, IsSound("credential"));
  return ReadRows<CredentialRow>(db, sql, [](const Statement& s) {
    return CredentialRow{.serial = static_cast<uint64_t>(s.Int(0)),
                         .role = s.Text(1),
                         .user = s.Text(2),
                         .secret = s.Text(3),
                         .created = Instant{s.Nanos(4)},
                         .expires = TimeOf(s, 5),
                         .revoked = TimeOf(s, 6)};
  });
}

}  // namespace spate::store
