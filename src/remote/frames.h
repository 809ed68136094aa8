// The bytes between `spate remote` and the server of a part, inside TLS (docs/formats/remote.md).
// All fields little endian.
//
//   frame := length:u32 type:u8 body      length counts type and body
//   body of kStart: the shell text; of kStartWords: StartWords; of kWindow: rows:u16 columns:u16;
//           of kSignal: its number, u8; of kInputGone: u32; of kAlive: nothing;
//           of kPortOpen: channel:u32 port:u16; of kPortBytes: channel:u32, bytes; of kPortEnd and
//           kPortClosed: channel:u32; of kPortGone: channel:u32 bytes:u32;
//           of kExited: exit code:u8 signal:u8, one of them 0; of kFailed: text for people
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/terminal.h"

namespace spate::remote {

enum class FrameType : uint8_t {
  // To the server: kStart or kStartWords once and first.
  kStart = 1,
  kInput = 2,
  kInputEnd = 3,
  kSignal = 4,
  kStartWords = 5,
  kWindow = 6,
  // Both ways: nothing but that who sends it is there.
  kAlive = 7,
  // To the server: connect this channel to a port there.
  kPortOpen = 8,
  // Both ways, of a channel: bytes; no more of them come; so many were passed on; it is over.
  kPortBytes = 9,
  kPortEnd = 10,
  kPortGone = 11,
  kPortClosed = 12,
  // To the client: kExited or kFailed once and last.
  kOutput = 16,
  kErrors = 17,
  kInputGone = 18,  // so many bytes of input went to the command, or are not wanted any more
  kExited = 19,
  kFailed = 20,
};

// A command has at most so many bytes, with all of its words (the system takes 2 MiB).
inline constexpr size_t kCommandMost = 4 << 20;
// The most bytes of any other frame.
inline constexpr size_t kBodyMost = 64 << 10;
// So much input may be under way: no more than what kInputGone has given back.
inline constexpr size_t kInputWindow = 256 << 10;

// A command whose words are as they were typed, maybe at a terminal.
struct StartWords {
  std::vector<std::string> words;        // at least one; none has a NUL
  std::optional<os::WindowSize> window;  // of its terminal; none: its streams are pipes
  std::string term;                      // what that terminal is, TERM
  friend bool operator==(const StartWords&, const StartWords&) = default;
};
// has terminal:u8 rows:u16 columns:u16, then TERM and the words, each with a NUL behind it.
std::string BodyOf(const StartWords& start);
std::optional<StartWords> StartWordsOf(std::string_view body);  // nullopt: none
std::string BodyOf(os::WindowSize window);
std::optional<os::WindowSize> WindowOf(std::string_view body);  // nullopt: none

void AppendFrame(std::string& out, FrameType type, std::string_view body);
std::string NumberBody(uint32_t number);
std::optional<uint32_t> NumberOf(std::string_view body);  // nullopt: none

struct Frame {
  FrameType type;
  std::string_view body;  // until the next call
};

// Whole frames of bytes that come in pieces. kCorrupt: a length or a type that cannot be.
class FrameReader {
 public:
  void Append(std::string_view bytes);
  Result<std::optional<Frame>> Next();

 private:
  std::string buffer_;
  size_t used_ = 0;
};

}  // namespace spate::remote
