// Any bytes as frames between a shepherd and its parent, as they come from a socket. Orders and
// reports that decode must encode and decode again to the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "shepherd/protocol.h"

namespace {

namespace shepherd = spate::shepherd;

// The only frame of `bytes`, without its length.
std::string Frame(std::string_view bytes) {
  shepherd::FrameBuffer frames;
  std::memcpy(frames.Room(bytes.size()), bytes.data(), bytes.size());
  frames.Filled(bytes.size());
  auto frame = frames.Next();
  CHECK(frame && frame->data() != nullptr && frames.pending() == 0);
  return std::string(*frame);
}

// Two messages are written from other types than they are read as.
void Write(std::string& out, const shepherd::JobOpening& job) {
  shepherd::AppendOpenJob(out, job, job.environment);
}
void Write(std::string& out, const shepherd::Ended& ended) {
  auto view = [](const spate::OutputStream& stream) {
    return shepherd::StreamView{stream.bytes, stream.spool, stream.total};
  };
  const auto& output = ended.output;
  shepherd::Append(out, shepherd::EndedView{
                            ended.end, {view(output.out), view(output.err), view(output.files)}});
}
template <typename Message>
void Write(std::string& out, const Message& message) {
  shepherd::Append(out, message);
}

template <typename Decode>
void CheckAgain(Decode decode, std::string_view frame) {
  auto message = decode(frame);
  if (!message) return;
  auto bytes_of = [](const auto& decoded) {
    std::string bytes;
    std::visit([&](const auto& each) { Write(bytes, each); }, decoded);
    return bytes;
  };
  const std::string bytes = bytes_of(*message);
  const std::string inner = Frame(bytes);
  auto again = decode(inner);
  CHECK(again.has_value());
  CHECK(bytes_of(*again) == bytes);
}

void ReadFrame(std::string_view frame) {
  if (shepherd::IsStart(frame)) {
    shepherd::StartView view;
    (void)shepherd::DecodeStart(frame, view);
    (void)shepherd::DecodeStartHead(frame);
  }
  CheckAgain(shepherd::DecodeOrder, frame);
  CheckAgain(shepherd::DecodeReport, frame);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  ReadFrame(std::string(input));  // without a length
  shepherd::FrameBuffer frames;
  while (!input.empty()) {
    const size_t step = std::min<size_t>(input.size(), 7);
    std::memcpy(frames.Room(step), input.data(), step);
    frames.Filled(step);
    input.remove_prefix(step);
    for (;;) {
      auto frame = frames.Next();
      if (!frame) return 0;
      if (frame->data() == nullptr) break;
      ReadFrame(*frame);
    }
  }
  return 0;
}
