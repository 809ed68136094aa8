// Any bytes as a chunk of rows with the right checksum: the first byte gives the count of rows,
// never 1, since a lone row may be so long that only memory would be tested.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "store/sqlite/json_words.h"
#include "store/sqlite/row_chunk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace store = spate::store;
  if (size == 0) return 0;
  uint64_t count = data[0] == 1 ? 0 : data[0];
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto words = store::WordsFromJson(bytes);
  if (words) CHECK(store::WordsFromJson(store::ToJson(*words)) == words);
  auto chunk = store::DecodeChunk(7, count, bytes, store::ChunkChecksum(7, count, bytes));
  if (!chunk) return 0;
  size_t rows_bytes = 0;
  for (size_t i = 0; i < count; ++i) rows_bytes += chunk->Row(i).size();
  CHECK(rows_bytes <= chunk->plain.size());
  return 0;
}
