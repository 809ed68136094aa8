// Any bytes as a record of provision of any kind: the first byte is the kind, the rest its blob.
// What decodes must encode, and decode again to the same bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "store/pool_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace store = spate::store;
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto record = store::DecodePoolRecord(data[0], bytes);
  if (!record) return 0;
  store::EncodedRecord encoded = store::EncodePoolRecord(*record);
  CHECK(static_cast<uint8_t>(encoded.kind) == data[0]);
  auto again = store::DecodePoolRecord(data[0], encoded.data);
  CHECK(again.has_value());
  CHECK(store::EncodePoolRecord(*again).data == encoded.data);
  return 0;
}
