// Any template and list: each line of the body is written once for each pair.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "doors/parasol/formats/gensub.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using spate::parasol::GensubOrder;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto items = spate::parasol::GensubItems(text.substr(0, 256));
  auto made_of = spate::parasol::GensubTemplate::Parse(text, "template");
  if (!made_of || items.empty()) return 0;
  size_t bytes = 0;
  auto sink = [&](std::string_view piece) {
    bytes += piece.size();
    return spate::Status();
  };
  CHECK(spate::parasol::WriteGensub(*made_of, items, items, GensubOrder::kDiagonal, sink));
  size_t diagonal = bytes;
  bytes = 0;
  CHECK(spate::parasol::WriteGensub(*made_of, items, items, GensubOrder::kGroup1, sink));
  CHECK(bytes == diagonal);
  return 0;
}
