// The numbers of --array.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::cli {

struct ArrayRange {
  uint64_t first = 0, last = 0, step = 1;
  uint64_t count() const { return (last - first) / step + 1; }
  friend bool operator==(const ArrayRange&, const ArrayRange&) = default;
};
// --array A-B[:STEP],...[%MOST]. No number is in two ranges.
struct ArrayNumbers {
  std::vector<ArrayRange> ranges;  // as typed
  uint32_t most = 0;               // tasks at once; 0: not given
  uint64_t count() const {
    uint64_t all = 0;
    for (const ArrayRange& range : ranges) all += range.count();
    return all;
  }
  friend bool operator==(const ArrayNumbers&, const ArrayNumbers&) = default;
};
Result<ArrayNumbers> ParseArray(std::string_view value);

struct RunOptions;
// Rejects --array without a command, or with another source of values.
Status CheckArray(const RunOptions& options);

}  // namespace spate::cli
