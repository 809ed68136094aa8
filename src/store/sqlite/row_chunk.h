// A chunk of rows as a blob of the `rows` table: lengths and bytes, compressed.
//
//   plain     for each row: varint length, bytes
//   data      the plain bytes as one zstd frame with its content size
//   checksum  low 32 bits of XXH3-64 over data, seeded with the XXH3-64 of the first row's key and
//             count (8 bytes each, low byte first)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/job.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace spate::store {

inline constexpr size_t kChunkRows = 1024;
inline constexpr size_t kChunkBytes = 64 << 10;  // plain bytes; a longer row is alone in its chunk

// The key of a task's row: the rows of a job lie together, in order, and are found by the key of
// the table itself.
constexpr uint64_t RowKey(JobId job, TaskIndex index) { return uint64_t{job.value} << 32 | index; }
constexpr TaskIndex IndexOfKey(uint64_t key) { return static_cast<TaskIndex>(key); }

// How many of these rows go into the next chunk; at least 1.
size_t ChunkLength(std::span<const std::string> rows);

uint32_t ChunkChecksum(uint64_t first_key, uint64_t count, std::string_view data);

class ChunkEncoder {
 public:
  ChunkEncoder();
  ~ChunkEncoder();
  // The bytes live until the next call.
  std::string_view Encode(std::span<const std::string> rows);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::string plain_;
  std::string data_;
};

// A chunk for reading; rows are views into it.
struct DecodedChunk {
  uint64_t first_key = 0;
  std::string plain;
  std::vector<uint32_t> ends;  // of row i in `plain`
  std::vector<uint32_t> starts;
  std::string_view Row(size_t i) const {
    return std::string_view(plain).substr(starts[i], ends[i] - starts[i]);
  }
  // In memory, with what a cache of many small ones spends on each.
  size_t bytes() const {
    constexpr size_t kOfCache = 128;
    return sizeof *this + kOfCache + plain.capacity() + (ends.capacity() + starts.capacity()) * 4;
  }
};

// Survives any bytes: kCorrupt names the tasks.
Result<DecodedChunk> DecodeChunk(uint64_t first_key, uint64_t count, std::string_view data,
                                 uint32_t checksum);

}  // namespace spate::store
