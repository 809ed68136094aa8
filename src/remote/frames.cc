#include "remote/frames.h"

#include <utility>

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

bool IsType(uint8_t type) { return (type >= 1 && type <= 12) || (type >= 16 && type <= 20); }

size_t MostOf(FrameType type) {
  const bool starts = type == FrameType::kStart || type == FrameType::kStartWords;
  return starts ? kCommandMost : kBodyMost;
}

void AppendU16(std::string& out, uint16_t number) {
  out += static_cast<char>(number);
  out += static_cast<char>(number >> 8);
}

uint16_t ReadU16(std::string_view bytes) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[0]) | static_cast<uint8_t>(bytes[1])
                                                                    << 8);
}

// Cuts a text up to its NUL off the front; nullopt: it has none.
std::optional<std::string> CutText(std::string_view& rest) {
  const size_t end = rest.find('\0');
  if (end == rest.npos) return std::nullopt;
  std::string text(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return text;
}

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

std::string BodyOf(os::WindowSize window) {
  std::string body;
  AppendU16(body, window.rows);
  AppendU16(body, window.columns);
  return body;
}

std::optional<os::WindowSize> WindowOf(std::string_view body) {
  if (body.size() != 4) return std::nullopt;
  return os::WindowSize{.rows = ReadU16(body), .columns = ReadU16(body.substr(2))};
}

std::string BodyOf(const StartWords& start) {
  std::string body(1, start.window ? '\1' : '\0');
  body += BodyOf(start.window.value_or(os::WindowSize{0, 0}));
  body += start.term;
  body += '\0';
  for (const std::string& word : start.words) {
    body += word;
    body += '\0';
  }
  return body;
}

std::optional<StartWords> StartWordsOf(std::string_view body) {
  constexpr size_t kFixed = 5;
  if (body.size() <= kFixed || static_cast<uint8_t>(body[0]) > 1) return std::nullopt;
  StartWords start;
  if (body[0] == 1) start.window = WindowOf(body.substr(1, 4));
  body.remove_prefix(kFixed);
  auto term = CutText(body);
  if (!term) return std::nullopt;
  start.term = std::move(*term);
  while (!body.empty()) {
    auto word = CutText(body);
    if (!word) return std::nullopt;
    start.words.push_back(std::move(*word));
  }
  if (start.words.empty()) return std::nullopt;
  return start;
}

void FrameReader::Append(std::string_view bytes) {
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
