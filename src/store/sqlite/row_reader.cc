#include "store/sqlite/row_reader.h"

#include <fmt/format.h>

#include "base/units.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

// Decoded chunks that are kept (and at least one).
constexpr size_t kCacheBytes = 16 << 20;

constexpr std::string_view kFind =
    "SELECT first, count, data, checksum FROM rows WHERE first <= ? ORDER BY first DESC LIMIT 1";

}  // namespace

void RowReader::Close() {
  find_ = Statement();
  db_.reset();
}

Status RowReader::Prepare() {
  if (db_) return {};
  auto db = OpenJobDbToRead(path_, frozen_);
  if (!db) return std::unexpected(std::move(db.error()));
  auto find = db->Prepare(kFind);
  if (!find) return std::unexpected(std::move(find.error()));
  db_.emplace(std::move(*db));
  find_ = std::move(*find);
  return {};
}

Result<const DecodedChunk*> RowReader::Load(TaskIndex index) {
  auto at = by_first_.upper_bound(index);
  if (at != by_first_.begin()) {
    auto chunk = std::prev(at)->second;
    if (index - chunk->first < chunk->ends.size()) {
      chunks_.splice(chunks_.begin(), chunks_, chunk);
      return &*chunk;
    }
  }
  if (auto prepared = Prepare(); !prepared) return std::unexpected(std::move(prepared.error()));
  find_.Bind(0, index);
  auto found = find_.Step();
  if (!found) {
    find_.Reset();
    return std::unexpected(std::move(found.error()));
  }
  Result<DecodedChunk> chunk = Fail(
      ErrorKind::kNotFound,
      fmt::format("'{}' holds no text of task {}", EscapeForScreen(path_), uint64_t{index} + 1));
  if (*found && index - static_cast<uint64_t>(find_.Int(0)) < static_cast<uint64_t>(find_.Int(1))) {
    chunk = DecodeChunk(static_cast<TaskIndex>(find_.Int(0)), static_cast<uint64_t>(find_.Int(1)),
                        find_.Bytes(2), static_cast<uint32_t>(find_.Int(3)));
    if (!chunk) chunk = Within(EscapeForScreen(path_), std::move(chunk.error()));
  }
  find_.Reset();
  if (!chunk) return std::unexpected(std::move(chunk.error()));
  held_bytes_ += chunk->bytes();
  chunks_.push_front(std::move(*chunk));
  by_first_[chunks_.front().first] = chunks_.begin();
  while (held_bytes_ > kCacheBytes && chunks_.size() > 1) {
    held_bytes_ -= chunks_.back().bytes();
    by_first_.erase(chunks_.back().first);
    chunks_.pop_back();
  }
  return &chunks_.front();
}

void RowReader::DropFrom(TaskIndex first) {
  for (auto at = by_first_.begin(); at != by_first_.end();) {
    auto chunk = at->second;
    if (uint64_t{chunk->first} + chunk->ends.size() <= first) {
      ++at;
      continue;
    }
    held_bytes_ -= chunk->bytes();
    chunks_.erase(chunk);
    at = by_first_.erase(at);
  }
}

Result<std::string_view> RowReader::Row(TaskIndex index) {
  auto chunk = Load(index);
  if (!chunk) return std::unexpected(std::move(chunk.error()));
  return (*chunk)->Row(index - (*chunk)->first);
}

}  // namespace spate::store
