// Limits on messages. A decoder refuses more; senders stay below (Split in pieces.h).
#pragma once

#include <cstdint>

#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/limits.h"

namespace spate::wire {

struct WireLimits {
  uint64_t message_bytes = 16u << 20;
  uint32_t lease_tasks = 65'536;
  uint32_t ends = 8'192;
  uint32_t ranges = 65'536;  // of tasks, in one message
  // Attempts of jobs that a node has, in a Hello: it never has more than its slots, and some ahead.
  uint32_t holds = 32'768;
  uint32_t texts = kMostTexts;    // words, variables or names of one list
  uint32_t processes = 65'536;    // of all ends of one message
  uint32_t features = 256;        // of a program
  uint32_t after = 1'000;         // jobs that one waits for
  uint64_t row_bytes = 4u << 20;  // one task's text
  uint64_t text_bytes = kLimits.text_bytes;
  uint64_t name_bytes = kLimits.name_bytes;
  uint64_t note_bytes = 16u << 10;        // text for people; a longer one is cut by its sender
  uint64_t offer_bytes = 256u << 10;      // of a node: its labels, resources and other texts
  uint64_t piece_bytes = 1u << 20;        // of a Live or an OutputPiece
  uint64_t inline_bytes = kInlineOutput;  // of a stream that goes with its end
  uint64_t secret_bytes = 64;             // of a nonce or a proof
  uint64_t size = kLimits.size;
  Instant latest{int64_t{1} << 62};    // the year 2116
  Duration longest{int64_t{1} << 60};  // 36 years, so that sums of a few do not overflow
};
inline constexpr WireLimits kWireLimits;

}  // namespace spate::wire
