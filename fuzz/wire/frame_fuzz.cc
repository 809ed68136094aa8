// Any bytes as a stream of frames, cut anywhere: the same frames come out as in one piece, and the
// same error in the end. The first byte says where to cut, and whether the peer was accepted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/frame.h"

namespace {

namespace wire = spate::wire;

// The frames as they came, put together again; and the error, if there was one.
std::string Read(std::string_view stream, size_t step, bool accepted) {
  wire::FrameReader reader;
  if (accepted) reader.Accept();
  std::string seen;
  while (!stream.empty()) {
    std::string piece(stream.substr(0, step));  // of its own size, so that looking beyond it shows
    stream.remove_prefix(piece.size());
    reader.Feed(piece);
    while (true) {
      auto frame = reader.Next();
      if (!frame) return seen + frame.error().message;
      if (!*frame) break;
      CHECK((*frame)->message.size() < (accepted ? wire::kMaxFrame : wire::kMaxGreetingFrame));
      CHECK(wire::AppendFrame(seen, (*frame)->type,
                              [&](std::string& out) { out += (*frame)->message; }));
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  bool accepted = (data[0] & 1) != 0;
  std::string whole = Read(stream, std::max<size_t>(stream.size(), 1), accepted);
  CHECK(Read(stream, 1 + data[0] / 2, accepted) == whole);
  return 0;
}
