// Any bytes as the answer of a process that takes task after task, cut anywhere: read in pieces it
// is the same answer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "shepherd/resident_frame.h"

namespace {

std::string Read(std::string_view stream, size_t step) {
  spate::shepherd::AnswerReader reader;
  reader.Begin("1.1");
  std::string result;
  while (!stream.empty()) {
    const std::string piece(stream.substr(0, step));
    stream.remove_prefix(piece.size());
    reader.Parse(piece, [&](std::string_view bytes) { result += bytes; });
  }
  CHECK(!reader.is_whole() || reader.wrong().empty());
  result += reader.is_whole() ? std::to_string(reader.status()) : "-";
  return result + (reader.has_more() ? "+" : "") + reader.wrong();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Read(stream, std::max<size_t>(stream.size(), 1));
  CHECK(Read(stream, 1 + data[0]) == whole);
  return 0;
}
