// Kept output of tasks, as it is read back.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace spate::store {

enum class Stream : uint8_t { kStdout = 1, kStderr = 2, kFiles = 3 };

// Bytes of a stream. kept == 0 < total: nothing was kept.
struct OutputExtent {
  uint64_t total = 0;
  uint64_t kept = 0;
};

// A part of the kept bytes.
struct OutputPart {
  uint64_t first = 0;
  uint64_t count = UINT64_MAX;
};

// Takes kept output in pieces. `skipped` bytes were left out just before a piece (of a long stream
// only the ends may be kept).
using OutputVisitor = std::function<void(std::string_view bytes, uint64_t skipped)>;

}  // namespace spate::store
