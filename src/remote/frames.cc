#include "remote/frames.h"

#include "base/check.h"

namespace spate::remote {
namespace {

constexpr size_t kHeader = 5;

void AppendU32(std::string& out, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift);
}

uint32_t ReadU32(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  return number;
}

bool IsType(uint8_t type) { return (type >= 1 && type <= 4) || (type >= 16 && type <= 20); }

size_t MostOf(FrameType type) { return type == FrameType::kStart ? kCommandMost : kBodyMost; }

}  // namespace

void AppendFrame(std::string& out, FrameType type, std::string_view body) {
  CHECK(body.size() <= MostOf(type));
  AppendU32(out, static_cast<uint32_t>(body.size() + 1));
  out += static_cast<char>(type);
  out += body;
}

std::string NumberBody(uint32_t number) {
  std::string body;
  AppendU32(body, number);
  return body;
}

std::optional<uint32_t> NumberOf(std::string_view body) {
  if (body.size() != 4) return std::nullopt;
  return ReadU32(body);
}

void FrameReader::Take(std::string_view bytes) {
  buffer_.erase(0, used_);
  used_ = 0;
  buffer_ += bytes;
}

// The type is looked at before the body has come, so that nobody makes us keep what cannot be.
Result<std::optional<Frame>> FrameReader::Next() {
  std::string_view rest = std::string_view(buffer_).substr(used_);
  if (rest.size() < kHeader) return std::nullopt;
  const uint32_t length = ReadU32(rest);
  const auto type = static_cast<uint8_t>(rest[4]);
  if (!IsType(type) || length == 0 || length - 1 > MostOf(static_cast<FrameType>(type))) {
    return Fail(ErrorKind::kCorrupt, "bytes that are not a frame of spate remote");
  }
  if (rest.size() < kHeader + length - 1) return std::nullopt;
  used_ += kHeader + length - 1;
  return Frame{static_cast<FrameType>(type), rest.substr(kHeader, length - 1)};
}

}  // namespace spate::remote
