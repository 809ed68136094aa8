// Any bytes as a message to the hub, as a piece of output, and as each of the first messages of a
// connection. What decodes must encode and decode again to the same bytes, whole and in pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/codec.h"
#include "wire/pieces.h"

namespace {

template <typename Decode>
void CheckAgain(Decode decode, std::string_view input) {
  auto message = decode(input);
  if (!message) return;
  std::string bytes;
  spate::wire::Append(bytes, *message);
  auto again = decode(bytes);
  CHECK(again.has_value());
  std::string same;
  spate::wire::Append(same, *again);
  CHECK(same == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace wire = spate::wire;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  CheckAgain(wire::DecodeGreeting, input);
  CheckAgain(wire::DecodeWelcome, input);
  CheckAgain(wire::DecodeRefusal, input);
  CheckAgain(wire::DecodeOutputPiece, input);
  CheckAgain(wire::DecodeToHub, input);
  auto message = wire::DecodeToHub(input);
  if (!message) return 0;
  for (const wire::ToHub& piece : wire::Split(std::move(*message))) {
    std::string part;
    wire::Append(part, piece);
    CHECK(wire::DecodeToHub(part).has_value());
  }
  return 0;
}
