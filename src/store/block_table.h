// BlockTable: many small entries by number, most of which may be in a file (store/replay_file.h).
// They are read from there in blocks, when they are wanted; changes stay in memory.
//
// An entry type has two functions, found by its namespace:
//   void EncodeBlock(std::span<const Entry> entries, std::string& to);
//   bool DecodeBlock(std::string_view from, std::span<Entry> entries);  // survives any bytes
//
// Thread: one at a time, also for what is const.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spate::store {

// Place of a block in its file.
struct BlockPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // 0: nowhere; all of its entries are as a new one
  uint64_t hash = 0;
};

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // kCorrupt: the bytes are no longer those that were written; kIo.
  virtual Result<std::string> Read(const BlockPlace& place) const = 0;
};

using PutBlock = std::function<Result<BlockPlace>(std::string_view bytes)>;

template <typename Entry>
class BlockTable {
 public:
  static constexpr size_t kEntries = 4096;  // of a block

  uint64_t size() const { return size_; }
  // New entries are Entry(). It never shrinks.
  void Grow(uint64_t size) {
    size_ = std::max(size_, size);
    blocks_.resize((size_ + kEntries - 1) / kEntries);
  }
  // Until the next change of the table. nullptr: the block cannot be read.
  const Entry* Find(uint64_t at) const {
    static const Entry kNew;
    Block& block = blocks_[at / kEntries];
    if (block.entries == nullptr && block.place.bytes == 0) return &kNew;
    return Load(block) ? &block.entries[at % kEntries] : nullptr;
  }
  Entry* Edit(uint64_t at) {
    Block& block = blocks_[at / kEntries];
    if (!Load(block)) return nullptr;
    block.changed = true;
    return &block.entries[at % kEntries];
  }
  // False: the last block cannot be read.
  bool Push(const Entry& entry) {
    Grow(size_ + 1);
    Entry* to = Edit(size_ - 1);
    if (to != nullptr) *to = entry;
    return to != nullptr;
  }

  // Blocks that did not change are copied as they are.
  Result<std::vector<BlockPlace>> Save(const PutBlock& put) const;
  // The table is new. False: there are not as many blocks as it has.
  bool Open(uint64_t size, std::span<const BlockPlace> places,
            std::shared_ptr<const BlockSource> source) {
    if (places.size() != size / kEntries + (size % kEntries == 0 ? 0 : 1)) return false;
    Grow(size);
    for (size_t i = 0; i < places.size(); ++i) blocks_[i].place = places[i];
    source_ = std::move(source);
    return true;
  }

 private:
  struct Block {
    std::unique_ptr<Entry[]> entries;  // null: not read yet
    BlockPlace place;
    bool changed = false;
  };
  bool Load(Block& block) const {
    if (block.entries != nullptr) return true;
    auto entries = std::make_unique<Entry[]>(kEntries);
    if (block.place.bytes > 0) {
      auto bytes = source_->Read(block.place);
      if (!bytes || !DecodeBlock(*bytes, std::span(entries.get(), kEntries))) return false;
    }
    block.entries = std::move(entries);
    return true;
  }

  uint64_t size_ = 0;
  mutable std::vector<Block> blocks_;
  std::shared_ptr<const BlockSource> source_;
};

template <typename Entry>
Result<std::vector<BlockPlace>> BlockTable<Entry>::Save(const PutBlock& put) const {
  std::vector<BlockPlace> places;
  places.reserve(blocks_.size());
  std::string bytes;
  for (const Block& block : blocks_) {
    BlockPlace& place = places.emplace_back();
    if (block.changed) {
      bytes.clear();
      EncodeBlock(std::span<const Entry>(block.entries.get(), kEntries), bytes);
    } else if (block.place.bytes > 0) {
      bytes = TRY(source_->Read(block.place));
    } else {
      continue;
    }
    place = TRY(put(bytes));
  }
  return places;
}

}  // namespace spate::store
