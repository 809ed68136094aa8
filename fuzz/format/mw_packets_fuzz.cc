// Any bytes are a packet of a master's tasks, or of a slave's answers, or are refused; what is read
// is written and read the same. And any bytes are values as arguments have them, or are refused.

#include <spate/bytes.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "doors/mw/formats/packet.h"

namespace {

namespace mw = spate::mw;

struct Node {
  int32_t value = 0;
  std::map<std::string, std::vector<bool>> notes;
  std::vector<Node> children;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, notes, children);
  }
};

template <class T>
void Read(std::string_view bytes) {
  try {
    const T value = mw::decode<T>(bytes);
    const std::string written = mw::encode(value);
    CHECK(mw::encode(mw::decode<T>(written)) == written);
  } catch (const mw::error&) {
  }
}

void ReadPackets(std::string_view bytes) {
  if (auto calls = mw::ReadCalls(bytes)) {
    const std::string written = mw::WriteCalls(*calls);
    auto again = mw::ReadCalls(written);
    CHECK(again.has_value());
    CHECK(*again == *calls);
  }
  if (auto answers = mw::ReadAnswers(bytes)) {
    std::string written;
    for (const mw::Answer& each : *answers) mw::AddAnswer(written, each);
    auto again = mw::ReadAnswers(written);
    CHECK(again.has_value());
    CHECK(*again == *answers);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadPackets(bytes);
  Read<std::vector<std::string>>(bytes);
  Read<std::vector<double>>(bytes);
  Read<std::vector<std::optional<std::variant<std::monostate, uint16_t, std::string>>>>(bytes);
  Read<std::tuple<bool, std::array<char, 2>, std::map<std::string, int64_t>>>(bytes);
  Read<Node>(bytes);
  return 0;
}
