#include "wire/frame.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate::wire {
namespace {

constexpr size_t kLengthBytes = 4;
// A buffer beyond this is given back when it is empty.
constexpr size_t kIdleCapacity = 16u << 10;
// Memory that a long frame may have when little of it has come; then four times what has come.
constexpr size_t kGrowAtOnce = 256u << 10;

uint32_t LengthAt(const char* bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

namespace internal {

size_t OpenFrame(std::string& out, FrameType type) {
  size_t begin = out.size();
  out.append(kLengthBytes, '\0');
  out.push_back(static_cast<char>(type));
  return begin;
}

bool CloseFrame(std::string& out, size_t begin) {
  size_t length = out.size() - begin - kLengthBytes;
  if (length > kMaxFrame) {
    out.resize(begin);
    return false;
  }
  for (size_t i = 0; i < kLengthBytes; ++i) out[begin + i] = static_cast<char>(length >> (8 * i));
  return true;
}

}  // namespace internal

void FrameReader::Feed(std::string_view bytes) {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.empty() && buffer_.capacity() > kIdleCapacity) std::string().swap(buffer_);
  }
  // A long frame is copied once while it grows, not at each doubling.
  const size_t most = std::max(kGrowAtOnce, 4 * (buffer_.size() + bytes.size()));
  const bool grows = wanted() > buffer_.capacity() && wanted() <= limit_ + kLengthBytes;
  if (grows) buffer_.reserve(std::min(wanted(), most));
  buffer_.append(bytes);
}

size_t FrameReader::wanted() const {
  return pending() < kLengthBytes ? 0 : kLengthBytes + LengthAt(buffer_.data() + begin_);
}

Result<std::optional<Frame>> FrameReader::Next() {
  if (pending() < kLengthBytes) {
    if (pending() == 0) Feed({});  // gives memory back
    return std::nullopt;
  }
  const char* at = buffer_.data() + begin_;
  uint32_t length = LengthAt(at);
  if (length == 0 || length > limit_) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("a frame of {} bytes, where 1 to {} may come", length, limit_));
  }
  if (pending() < kLengthBytes + 1) return std::nullopt;
  auto type = static_cast<uint8_t>(at[kLengthBytes]);
  if (type == 0 || type > kFrameTypeLast) {
    return Fail(ErrorKind::kCorrupt, fmt::format("a frame of the unknown type {}", type));
  }
  if (pending() - kLengthBytes < length) return std::nullopt;
  begin_ += kLengthBytes + length;
  return Frame{static_cast<FrameType>(type), std::string_view(at + kLengthBytes + 1, length - 1)};
}

}  // namespace spate::wire
