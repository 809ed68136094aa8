// A look at an attempt while it runs: a piece of what it has written so far, and what it has used.
// People ask for it (wire::LookAtRun), and the attempt's shepherd answers (wire/ask.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_list.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/excess.h"
#include "core/model/fields.h"

namespace spate {

// Bytes of one stream in one answer. A reader who wants more asks again.
inline constexpr uint32_t kLookPiece = 32 * 1024;

struct RunWish {
  static constexpr uint32_t kNumber = 14;  // as a question
  uint64_t out_from = 0;                   // of each stream, the first byte that is wanted
  uint64_t err_from = 0;
  uint32_t most = 0;  // bytes of each stream, at most kLookPiece; 0: only how many there are
  bool use = false;
  SPATE_FIELDS(2, out_from, 3, err_from, 4, Bound(most, .most = kLookPiece), 5, use);
  friend bool operator==(const RunWish&, const RunWish&) = default;
};

struct StreamSoFar {
  uint64_t from = 0;  // place of `bytes` in the stream: as wanted, or its end where that is before
  std::string bytes;
  uint64_t total = 0;   // bytes that can be read so far
  std::string file;     // the stream goes to this file, as its task names it, and nothing is read
  std::string trouble;  // why a part of it is lost; empty: it is whole
  static constexpr uint64_t kTextBytes = kLimits.text_bytes;
  SPATE_FIELDS(1, from, 2, Bound(bytes, .most = kLookPiece), 3, total, 4, file, 5, trouble);
  friend bool operator==(const StreamSoFar&, const StreamSoFar&) = default;
};

// Use by all processes of an attempt on one node, ended ones included.
struct RunUse {
  Duration user, system;
  uint64_t memory = 0;  // bytes now
  uint64_t peak = 0;
  MemorySource source = MemorySource::kNone;  // of the peak
  std::vector<EnforcedLimit> limits;          // empty: an older shepherd, which does not tell them
  SPATE_FIELDS(1, user, 2, system, 3, memory, 4, peak, 5, source, 8, limits);
  friend bool operator==(const RunUse&, const RunUse&) = default;
};

struct RunLook {
  SPATE_INNER_ENUM(Standing,
      kUnknown, "unknown",         // who was asked cannot look at it: `why`
      kNotStarted, "not-started",  // the node has it, and it waits there
      kRunning, "running",
      kEnded, "ended");  // or is ending: its end is on its way, or it was never here
  Standing standing = Standing::kUnknown;
  StreamSoFar out, err;
  std::optional<RunUse> use;
  std::string why;
  static constexpr uint64_t kTextBytes = kLimits.text_bytes;
  SPATE_FIELDS(1, standing, 2, out, 3, err, 4, use, 5, why);
  friend bool operator==(const RunLook&, const RunLook&) = default;
};

}  // namespace spate
