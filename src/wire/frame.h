// Frames: how messages lie in a stream of bytes. All fields little endian.
//
//   frame := length:u32 type:u8 message      length counts type and message
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::wire {

// Lengths as the field of a frame counts them. A peer that was not accepted yet may send no more
// than the first.
inline constexpr uint32_t kMaxGreetingFrame = 16u << 10;
inline constexpr uint32_t kMaxFrame = 16u << 20;
inline constexpr size_t kFrameHead = 5;  // bytes before the message

enum class FrameType : uint8_t {
  kGreeting = 1,
  kWelcome = 2,
  kRefusal = 3,
  kHeartbeat = 4,
  kToNode = 5,
  kToHub = 6,
  kOutputPiece = 7,
  kRequest = 8,  // of a client
  kReply = 9,    // of the hub, to a client
};
inline constexpr int kFrameTypeLast = 9;

// Appends what `write(out)` appends as one frame. False, and nothing appended, when it is longer
// than kMaxFrame.
template <typename Write>
[[nodiscard]] bool AppendFrame(std::string& out, FrameType type, Write write);

struct Frame {
  FrameType type = FrameType::kHeartbeat;
  std::string_view message;  // valid until the reader's next call
};

// Takes bytes as they come and gives whole frames. Holds at most 256 KB or four times what has
// come, and gives memory back after a long frame, so that an idle connection costs little.
class FrameReader {
 public:
  void Feed(std::string_view bytes);
  // nullopt: no whole frame yet. An error (a length that may not be, an unknown type) is for good:
  // the peer is to be cut off. Ask until there is none before the next Feed.
  Result<std::optional<Frame>> Next();

  // From now on frames may be long.
  void Accept() { limit_ = kMaxFrame; }
  size_t pending() const { return buffer_.size() - begin_; }
  // Bytes that a frame which has begun and is not whole will have here. 0: there is none.
  size_t wanted() const;
  size_t capacity() const { return buffer_.capacity(); }

 private:
  std::string buffer_;
  size_t begin_ = 0;  // what is before was given out
  uint32_t limit_ = kMaxGreetingFrame;
};

namespace internal {
size_t OpenFrame(std::string& out, FrameType type);
bool CloseFrame(std::string& out, size_t begin);
}  // namespace internal

template <typename Write>
bool AppendFrame(std::string& out, FrameType type, Write write) {
  size_t begin = internal::OpenFrame(out, type);
  write(out);
  return internal::CloseFrame(out, begin);
}

}  // namespace spate::wire
