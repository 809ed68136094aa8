// Rows have a sequence of their own, without gaps from the newest image on. An image is a run of
// rows with the number of its first one in `image`; what meta has of the table, its newest number
// among it, shows when rows are missing at its end.
#include "store/sqlite/pool_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/units.h"
#include "core/provision/durable.h"
#include "store/hub_store.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

using PoolRecord = provision::Record;

constexpr int64_t kRemovedAtOnce = 20'000;

constexpr std::string_view kInsert =
    "INSERT INTO pool_log VALUES(?1,?2,?3,?4,?5,?6, spate_sum('pool_log',?1,?2,?3,?4,?5,?6))";
constexpr std::string_view kWriteNumber =
    "INSERT INTO meta(key, value) VALUES(?1, ?2) "
    "ON CONFLICT(key) DO UPDATE SET value = ?2 WHERE value <> ?2";
// An image is of no time: the next one removes it.
constexpr std::string_view kRemove =
    "DELETE FROM pool_log WHERE seq IN (SELECT seq FROM pool_log WHERE at_us < ?1 AND seq < ?2 "
    "ORDER BY at_us LIMIT ?3)";

constexpr std::string_view kNextPool =
    "SELECT pool FROM pool_log WHERE image = 0 AND pool > ? ORDER BY pool LIMIT 1";
// From this row on the newest ?2 of the pool are kept.
constexpr std::string_view kFirstKept =
    "SELECT seq FROM pool_log WHERE image = 0 AND pool = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2 - "
    "1";
constexpr std::string_view kRemoveOfPool =
    "DELETE FROM pool_log WHERE seq IN (SELECT seq FROM pool_log WHERE image = 0 AND pool = ?1 AND "
    "seq < ?2 ORDER BY seq LIMIT ?3)";

std::unexpected<Error> Damaged(const Database& db, uint64_t seq, std::string_view how) {
  return Fail(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: row {} of table pool_log ({})",
                                               EscapeForScreen(db.path()), seq, how));
}

// Checks the table and its indexes: the next change would meet an error there, and end the hub.
Status CheckPages(Database& db) {
  auto check = TRY(db.Prepare("PRAGMA integrity_check('pool_log')"));
  (void)TRY(check.Step());
  std::string text = check.Text(0);
  if (text == "ok") return {};
  return Fail(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: table pool_log ({})",
                                               EscapeForScreen(db.path()), text));
}

// Row at which a replay begins.
Result<uint64_t> FirstOfPools(Database& db) {
  auto newest =
      db.Prepare(fmt::format("SELECT seq, image, {0} FROM pool_log WHERE image > 0 OR NOT ({0}) "
                             "ORDER BY seq DESC LIMIT 1",
                             IsSound("pool_log")));
  if (!newest) return std::unexpected(std::move(newest.error()));
  auto found = TRY(newest->Step());
  if (!found) return 1;
  if (newest->Int(2) == 0) {
    return Damaged(db, static_cast<uint64_t>(newest->Int(0)), "checksum");
  }
  return static_cast<uint64_t>(newest->Int(1));
}

Result<PoolLogEntry> RowOf(const Database& db, const Statement& s) {
  PoolLogEntry row{.seq = static_cast<uint64_t>(s.Int(0)),
                   .pool = provision::PoolId(static_cast<uint32_t>(s.Int(1))),
                   .at_us = s.Int(2),
                   .image = static_cast<uint64_t>(s.Int(3)),
                   .record = {}};
  if (s.Int(6) == 0) return Damaged(db, row.seq, "checksum");
  auto record = DecodePoolRecord(static_cast<int>(s.Int(4)), s.Bytes(5));
  if (!record) return Damaged(db, row.seq, record.error().message);
  row.record = std::move(*record);
  return row;
}

}  // namespace

Status PoolLog::Prepare(Database& db) {
  db_ = &db;
  auto last = MetaNumber(db, "pool_seq");
  auto used = PoolNumbers(db);
  if (!last || !used) return std::unexpected(last ? used.error() : last.error());
  last_seq_ = static_cast<uint64_t>(*last);
  used_ = *used;
  const std::pair<Statement*, std::string_view> all[] = {{&insert_, kInsert},
                                                         {&number_, kWriteNumber}};
  return db.PrepareAll(all);
}

Status PoolLog::WriteEntry(const PoolLogEntry& entry) {
  EncodedRecord encoded = EncodePoolRecord(entry.record);
  insert_.Bind(0, static_cast<int64_t>(entry.seq));
  insert_.Bind(1, entry.pool.value);
  insert_.Bind(2, entry.at_us);
  insert_.Bind(3, static_cast<int64_t>(entry.image));
  insert_.Bind(4, encoded.kind);
  insert_.BindBlob(5, encoded.data);
  TRY(insert_.RunOnce());
  last_seq_ = entry.seq;
  NoteNumbers(entry.record, used_);
  return {};
}

Status PoolLog::Write(const PoolsChanged& change) {
  for (const auto& [pool, record] : change.entries) {
    auto written = WriteEntry({last_seq_ + 1, pool, change.now.ns / 1000, 0, record});
    if (!written) return written;
  }
  return WriteNumbers();
}

Status PoolLog::WriteImage(const std::vector<PoolRecord>& images) {
  uint64_t first = last_seq_ + 1;
  for (const PoolRecord& record : images) {
    auto written = WriteEntry({last_seq_ + 1, {}, 0, first, record});
    if (!written) return written;
  }
  return WriteNumbers();
}

Status PoolLog::Write(const PoolsCut& cut) {
  CHECK(!cut.images.empty());
  auto first = static_cast<int64_t>(last_seq_ + 1);
  TRY(WriteImage(cut.images));
  auto remove = TRY(db_->Prepare(kRemove));
  remove.Bind(0, std::max<int64_t>(cut.keep_since.ns / 1000, 1));
  remove.Bind(1, first);
  remove.Bind(2, kRemovedAtOnce);
  TRY(remove.RunOnce());
  return RemoveUnread(cut.images, first);
}

// Cost: a few lookups for each pool that has rows. Who adds and removes pools, or changes one, all
// day would fill the disk by it.
Status PoolLog::RemoveUnread(const std::vector<PoolRecord>& images, int64_t first) {
  std::set<uint32_t> there;
  for (const PoolRecord& record : images) {
    if (const auto* kept = std::get_if<provision::PoolKept>(&record))
      there.insert(kept->pool.value);
  }
  auto next = TRY(db_->Prepare(kNextPool));
  auto first_kept = TRY(db_->Prepare(kFirstKept));
  auto remove = TRY(db_->Prepare(kRemoveOfPool));
  int64_t left = kRemovedAtOnce;
  for (int64_t pool = -1; left > 0;) {
    next.Bind(0, pool);
    const bool any = TRY(next.Step());
    pool = any ? next.Int(0) : 0;
    next.Reset();
    if (!any) return {};
    int64_t before = first;
    if (there.contains(static_cast<uint32_t>(pool))) {
      first_kept.Bind(0, pool);
      first_kept.Bind(1, static_cast<int64_t>(PoolRows::kRowsOfPool));
      before = TRY(first_kept.Step()) ? std::min(first, first_kept.Int(0)) : 0;
      first_kept.Reset();
    }
    remove.Bind(0, pool);
    remove.Bind(1, before);
    remove.Bind(2, left);
    TRY(remove.RunOnce());
    left -= db_->Changes();
  }
  return {};
}

Status PoolLog::Write(const PoolsSetAside&) {
  auto aside = TRY(PoolLogsAside(*db_));
  TRY(SetPoolLogAside(*db_, aside + 1));
  return WriteImage({used_});
}

Status PoolLog::Write(const PoolsCopied& copied) {
  for (const PoolLogEntry& entry : copied.entries) {
    TRY(WriteEntry(entry));
  }
  NoteNumbers(copied.used, used_);
  return WriteNumbers();
}

Status PoolLog::WriteNumbers() {
  const std::pair<std::string_view, uint64_t> numbers[] = {{"pool_seq", last_seq_},
                                                           {"last_pool", used_.last_pool.value},
                                                           {"last_pilot", used_.last_pilot.value}};
  for (const auto& [key, value] : numbers) {
    number_.BindText(0, key);
    number_.Bind(1, static_cast<int64_t>(value));
    TRY(number_.RunOnce());
  }
  return {};
}

void NoteNumbers(const PoolRecord& record, provision::NumbersKept& used) {
  std::visit(
      [&](const auto& each) {
        if constexpr (requires { each.pool; }) {
          used.last_pool = std::max(used.last_pool, each.pool);
        }
        if constexpr (requires { each.pilot; }) {
          used.last_pilot = std::max(used.last_pilot, each.pilot);
        }
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, provision::NumbersKept>) {
          used.last_pool = std::max(used.last_pool, each.last_pool);
          used.last_pilot = std::max(used.last_pilot, each.last_pilot);
        }
      },
      record);
}

Result<std::vector<PoolLogEntry>> ReadPools(Database& db) {
  auto last = MetaNumber(db, "pool_seq");
  auto used = PoolNumbers(db);
  if (!last || !used) return std::unexpected(last ? used.error() : last.error());
  std::vector<PoolLogEntry> rows;
  if (*last == 0) return rows;  // perhaps of a version without the table
  TRY(CheckPages(db));
  auto first = TRY(FirstOfPools(db));
  auto select = TRY(db.Prepare(
      fmt::format("SELECT seq, pool, at_us, image, kind, data, {} FROM pool_log WHERE seq >= ? "
                  "ORDER BY seq",
                  IsSound("pool_log"))));
  select.Bind(0, static_cast<int64_t>(first));
  provision::Durable durable;
  uint64_t next = first;
  for (;; ++next) {
    auto more = TRY(select.Step());
    if (!more) break;
    auto row = TRY(RowOf(db, select));
    if (row.seq != next) return Damaged(db, next, "it is missing");
    if (!durable.Admits(row.record)) {
      return Damaged(db, next, "it does not follow from those before it");
    }
    durable.Apply(row.record);
    rows.push_back(std::move(row));
  }
  if (next != static_cast<uint64_t>(*last) + 1) return Damaged(db, next, "it is missing");
  // A journal that was restored skips some.
  if (durable.last_pool() < used->last_pool || durable.last_pilot() < used->last_pilot) {
    rows.push_back({.seq = 0, .pool = {}, .record = *used});
  }
  return rows;
}

Result<provision::NumbersKept> PoolNumbers(Database& db) {
  auto pool = MetaNumber(db, "last_pool");
  auto pilot = MetaNumber(db, "last_pilot");
  if (!pool || !pilot) return std::unexpected(pool ? pilot.error() : pool.error());
  return provision::NumbersKept{provision::PoolId(static_cast<uint32_t>(*pool)),
                                provision::PilotId(static_cast<uint32_t>(*pilot))};
}

Result<std::vector<PoolLogRow>> ReadPoolLogOf(Database& db, provision::PoolId pool, size_t most) {
  auto select =
      db.Prepare(fmt::format("SELECT seq, pool, at_us, image, kind, data, {} FROM pool_log "
                             "WHERE pool = ? AND image = 0 ORDER BY seq DESC",
                             IsSound("pool_log")));
  if (!select) return std::unexpected(std::move(select.error()));
  select->Bind(0, pool.value);
  std::vector<PoolLogRow> rows;
  while (rows.size() < most) {
    auto more = TRY(select->Step());
    if (!more) break;
    auto row = RowOf(db, *select);
    // Damaged rows are skipped here; a check of the journal reports them.
    if (row) rows.push_back({Instant{select->Nanos(2)}, std::move(row->record)});
  }
  std::ranges::reverse(rows);
  return rows;
}

void VisitPoolLog(Database& db, const std::function<void(Result<PoolLogEntry>)>& visit) {
  auto select = db.Prepare(
      fmt::format("SELECT seq, pool, at_us, image, kind, data, {} FROM pool_log ORDER BY seq",
                  IsSound("pool_log")));
  if (!select) return visit(std::unexpected(std::move(select.error())));
  for (;;) {
    auto more = select->Step();
    if (!more) return visit(std::unexpected(std::move(more.error())));
    if (!*more) return;
    visit(RowOf(db, *select));
  }
}

Result<int64_t> PoolLogsAside(Database& db) {
  return db.QueryInt(
      "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'pool_log_damaged%'");
}

}  // namespace spate::store
