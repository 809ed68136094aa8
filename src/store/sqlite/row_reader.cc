#include "store/sqlite/row_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

// Decoded chunks that are kept (and at least one).
constexpr size_t kCacheBytes = 16 << 20;

constexpr std::string_view kFind =
    "SELECT id, count, data, checksum FROM rows WHERE id <= ? ORDER BY id DESC LIMIT 1";

}  // namespace

void RowReader::Close() {
  find_ = Statement();
  db_.reset();
}

Status RowReader::Prepare() {
  if (db_) return {};
  auto db = TRY(OpenJournalToRead(path_, frozen_));
  auto find = TRY(db.Prepare(kFind));
  db_.emplace(std::move(db));
  find_ = std::move(find);
  return {};
}

Result<const DecodedChunk*> RowReader::Load(uint64_t key) {
  auto at = by_first_.upper_bound(key);
  if (at != by_first_.begin()) {
    auto chunk = std::prev(at)->second;
    if (key - chunk->first_key < chunk->ends.size()) {
      chunks_.splice(chunks_.begin(), chunks_, chunk);
      return &*chunk;
    }
  }
  TRY(Prepare());
  find_.Bind(0, static_cast<int64_t>(key));
  auto found = find_.Step();
  if (!found) {
    find_.Reset();
    return std::unexpected(std::move(found.error()));
  }
  Result<DecodedChunk> chunk =
      Fail(ErrorKind::kNotFound,
           fmt::format("'{}' holds no text of task {} of job {}", EscapeForScreen(path_),
                       uint64_t{IndexOfKey(key)} + 1, key >> 32));
  auto first_key = static_cast<uint64_t>(find_.Int(0));
  auto count = static_cast<uint64_t>(find_.Int(1));
  if (*found && key - first_key < count) {
    chunk = DecodeChunk(first_key, count, find_.Bytes(2), static_cast<uint32_t>(find_.Int(3)));
    if (!chunk) chunk = Within(EscapeForScreen(path_), std::move(chunk.error()));
  }
  find_.Reset();
  if (!chunk) return std::unexpected(std::move(chunk.error()));
  held_bytes_ += chunk->bytes();
  chunks_.push_front(std::move(*chunk));
  by_first_[first_key] = chunks_.begin();
  while (held_bytes_ > kCacheBytes && chunks_.size() > 1) {
    held_bytes_ -= chunks_.back().bytes();
    by_first_.erase(chunks_.back().first_key);
    chunks_.pop_back();
  }
  return &chunks_.front();
}

void RowReader::DropFrom(JobId job, TaskIndex first) {
  uint64_t from = RowKey(job, first);
  auto at = by_first_.upper_bound(from);
  if (at != by_first_.begin()) --at;  // it may reach beyond `first`
  while (at != by_first_.end() && at->first >> 32 <= job.value) {
    auto chunk = at->second;
    if (chunk->first_key + chunk->ends.size() <= from) {
      ++at;
      continue;
    }
    held_bytes_ -= chunk->bytes();
    chunks_.erase(chunk);
    at = by_first_.erase(at);
  }
}

void VisitRows(Database& db, const std::function<void(JobId, Result<DecodedChunk>)>& visit) {
  int64_t last = -1;
  for (;;) {
    auto select = db.Prepare("SELECT id, count, data, checksum FROM rows WHERE id > ? ORDER BY id");
    if (!select) return visit(JobId(), std::unexpected(std::move(select.error())));
    select->Bind(0, last);
    Result<bool> more = true;
    while ((more = select->Step()) && *more) {
      last = std::max(last, select->Int(0));
      auto key = static_cast<uint64_t>(select->Int(0));
      visit(JobId(static_cast<uint32_t>(key >> 32)),
            DecodeChunk(key, static_cast<uint64_t>(select->Int(1)), select->Bytes(2),
                        static_cast<uint32_t>(select->Int(3))));
    }
    if (more) return;
    // One that SQLite cannot take apart is found by its key, and passed over.
    auto find = db.Prepare("SELECT id FROM rows WHERE id > ? ORDER BY id LIMIT 1");
    if (find) find->Bind(0, last);
    auto found = find ? find->Step() : std::unexpected(find.error());
    bool passed = found && *found;
    if (passed) last = find->Int(0);
    visit(JobId(passed ? static_cast<uint32_t>(last >> 32) : 0),
          std::unexpected(std::move(more.error())));
    if (!passed) return;
  }
}

Result<std::string_view> RowReader::Row(JobId job, TaskIndex index) {
  uint64_t key = RowKey(job, index);
  auto chunk = TRY(Load(key));
  return chunk->Row(key - chunk->first_key);
}

}  // namespace spate::store
