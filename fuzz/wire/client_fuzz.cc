// Any bytes as a client's request, a hub's reply, and the settings of a job. What decodes must
// encode and decode again to the same bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/client_codec.h"

namespace {

namespace wire = spate::wire;

template <typename Decode, typename Encode>
void CheckAgain(Decode decode, Encode encode, std::string_view input) {
  auto message = decode(input);
  if (!message) return;
  const std::string bytes = encode(*message);
  auto again = decode(bytes);
  CHECK(again.has_value());
  CHECK(encode(*again) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  auto bytes_of = [](const auto& message) {
    std::string bytes;
    wire::Append(bytes, message);
    return bytes;
  };
  CheckAgain(wire::DecodeRequest, bytes_of, input);
  CheckAgain(wire::DecodeReply, bytes_of, input);
  CheckAgain(wire::DecodeSettings, wire::EncodeSettings, input);
  if (auto numbered = wire::SplitId(input)) {
    CHECK(wire::IdBytes(numbered->id) + std::string(numbered->message) == input);
  }
  return 0;
}
