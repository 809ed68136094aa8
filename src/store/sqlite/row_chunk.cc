#include "store/sqlite/row_chunk.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <memory>

#include "os/exhausted.h"
#include "store/bytes.h"

namespace spate::store {
namespace {

// Level 1: 50 MB of rows take 0.1 s, and lists shrink to a fifth or less.
constexpr int kLevel = 1;
// More than any chunk holds; a lone row may be longer than kChunkBytes.
constexpr uint64_t kLoneRowLimit = 1u << 30;
constexpr uint64_t kPlainLimit = 2 * kChunkBytes;

}  // namespace

size_t ChunkLength(std::span<const std::string> rows) {
  size_t bytes = 0;
  size_t count = 0;
  while (count < rows.size() && count < kChunkRows) {
    bytes += rows[count].size() + 1;
    if (bytes > kChunkBytes && count > 0) break;
    ++count;
  }
  return count;
}

uint32_t ChunkChecksum(uint64_t first_key, uint64_t count, std::string_view data) {
  std::string head;
  ByteWriter(head).Fixed64(first_key);
  ByteWriter(head).Fixed64(count);
  uint64_t head_hash = XXH3_64bits(head.data(), head.size());
  return static_cast<uint32_t>(XXH3_64bits_withSeed(data.data(), data.size(), head_hash));
}

void ChunkEncoder::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

ChunkEncoder::ChunkEncoder() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) os::EndExhausted(os::kOutOfMemory);
}
ChunkEncoder::~ChunkEncoder() = default;

std::string_view ChunkEncoder::Encode(std::span<const std::string> rows) {
  plain_.clear();
  ByteWriter writer(plain_);
  for (const std::string& row : rows) writer.Text(row);
  data_.resize(ZSTD_compressBound(plain_.size()));
  size_t size = ZSTD_compressCCtx(context_.get(), data_.data(), data_.size(), plain_.data(),
                                  plain_.size(), kLevel);
  if (ZSTD_isError(size) != 0) os::EndExhausted(os::kOutOfMemory);  // data_ holds any result
  return std::string_view(data_).substr(0, size);
}

Result<DecodedChunk> DecodeChunk(uint64_t first_key, uint64_t count, std::string_view data,
                                 uint32_t checksum) {
  auto damaged = [&](std::string_view how) {
    uint64_t first = IndexOfKey(first_key);
    return Fail(ErrorKind::kCorrupt, fmt::format("the text of tasks {} to {} is damaged ({})",
                                                 first + 1, first + count, how));
  };
  if (ChunkChecksum(first_key, count, data) != checksum) return damaged("checksum");
  uint64_t size = ZSTD_getFrameContentSize(data.data(), data.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
      size > (count == 1 ? kLoneRowLimit : kPlainLimit) || count > size) {
    return damaged("length");
  }
  DecodedChunk chunk;
  chunk.first_key = first_key;
  chunk.plain.resize(size);
  // One that is made for each chunk costs more than a small one's text.
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  static thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  if (context == nullptr) os::EndExhausted(os::kOutOfMemory);
  size_t got =
      ZSTD_decompressDCtx(context.get(), chunk.plain.data(), size, data.data(), data.size());
  if (ZSTD_isError(got) != 0 || got != size) return damaged("compression");
  chunk.starts.reserve(count);
  chunk.ends.reserve(count);
  ByteReader reader(chunk.plain);
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view row = reader.Text();
    if (!reader.ok()) return damaged("rows");
    auto start = static_cast<uint32_t>(size - reader.left() - row.size());
    chunk.starts.push_back(start);
    chunk.ends.push_back(start + static_cast<uint32_t>(row.size()));
  }
  if (reader.left() != 0) return damaged("rows");
  return chunk;
}

}  // namespace spate::store
