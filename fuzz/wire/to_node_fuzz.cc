// Any bytes as a message to a node. What decodes must encode and decode again to the same bytes,
// whole and in pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/codec.h"
#include "wire/pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace wire = spate::wire;
  auto message = wire::DecodeToNode({reinterpret_cast<const char*>(data), size});
  if (!message) return 0;
  std::string bytes;
  wire::Append(bytes, *message);
  auto again = wire::DecodeToNode(bytes);
  CHECK(again.has_value());
  std::string same;
  wire::Append(same, *again);
  CHECK(same == bytes);
  for (const wire::ToNode& piece : wire::Split(std::move(*again))) {
    std::string part;
    wire::Append(part, piece);
    CHECK(wire::DecodeToNode(part).has_value());
  }
  return 0;
}
