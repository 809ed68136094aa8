// Any bytes as frames of `spate remote`, cut anywhere: the same frames come out as in one piece,
// and the same error in the end; written again, they are the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "remote/frames.h"

namespace {

std::string Read(std::string_view stream, size_t step) {
  spate::remote::FrameReader reader;
  std::string seen;
  while (!stream.empty()) {
    const std::string piece(stream.substr(0, step));
    stream.remove_prefix(piece.size());
    reader.Append(piece);
    for (;;) {
      auto frame = reader.Next();
      if (!frame) return seen + frame.error().message;
      if (!*frame) break;
      CHECK((*frame)->body.size() <= spate::remote::kCommandMost);
      (void)spate::remote::NumberOf((*frame)->body);
      spate::remote::AppendFrame(seen, (*frame)->type, (*frame)->body);
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Read(stream, std::max<size_t>(stream.size(), 1));
  CHECK(Read(stream, 1 + data[0]) == whole);
  return 0;
}
