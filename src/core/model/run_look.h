// A look at an attempt while it runs: a piece of what it has written so far, and what it has used.
// People ask for it (wire::LookAtRun); the hub asks the node (wire::WantLook), and the node the
// attempt's shepherd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/model/attempt.h"

namespace spate {

// The feature (wire/greeting.h) of a node that answers wire::WantLook.
inline constexpr const char* kLookFeature = "looks";
// Bytes of one stream in one answer. A reader who wants more asks again.
inline constexpr uint32_t kLookPiece = 32 * 1024;

struct RunWish {
  uint32_t rank = 0;      // of a gang: whose output, and the use of the part with this rank
  uint64_t out_from = 0;  // of each stream, the first byte that is wanted
  uint64_t err_from = 0;
  uint32_t most = 0;  // bytes of each stream, at most kLookPiece; 0: only how many there are
  bool use = false;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "rank", self.rank);
    visit(2, "out_from", self.out_from);
    visit(3, "err_from", self.err_from);
    visit(4, "most", self.most);
    visit(5, "use", self.use);
  }
  friend bool operator==(const RunWish&, const RunWish&) = default;
};

struct StreamSoFar {
  uint64_t from = 0;  // place of `bytes` in the stream: as wanted, or its end where that is before
  std::string bytes;
  uint64_t total = 0;   // bytes that can be read so far
  std::string file;     // the stream goes to this file, as its task names it, and nothing is read
  std::string trouble;  // why a part of it is lost; empty: it is whole
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "from", self.from);
    visit(2, "bytes", self.bytes);
    visit(3, "total", self.total);
    visit(4, "file", self.file);
    visit(5, "trouble", self.trouble);
  }
  friend bool operator==(const StreamSoFar&, const StreamSoFar&) = default;
};

// Use by all processes of an attempt on one node, ended ones included.
struct RunUse {
  Duration user, system;
  uint64_t memory = 0;  // bytes now
  uint64_t peak = 0;
  MemorySource source = MemorySource::kNone;  // of the peak
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "system", self.system);
    visit(3, "memory", self.memory);
    visit(4, "peak", self.peak);
    visit(5, "source", self.source);
  }
  friend bool operator==(const RunUse&, const RunUse&) = default;
};

struct RunLook {
  enum class Standing : uint8_t {
    kUnknown,     // who was asked cannot look at it: `why`
    kNotStarted,  // the node has it, and it waits there
    kRunning,
    kEnded,  // or is ending: its end is on its way, or it was never here
    kLast = kEnded,
  };
  Standing standing = Standing::kUnknown;
  StreamSoFar out, err;
  std::optional<RunUse> use;
  std::string why;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "standing", self.standing);
    visit(2, "out", self.out);
    visit(3, "err", self.err);
    visit(4, "use", self.use);
    visit(5, "why", self.why);
  }
  friend bool operator==(const RunLook&, const RunLook&) = default;
};

}  // namespace spate
