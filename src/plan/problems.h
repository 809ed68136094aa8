// Problems of lists, in the order in which they stand there, for one error.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "core/model/limits.h"

namespace spate::cli {

class Problems {
 public:
  // The first of them are told, and all are counted.
  void Add(std::string line) {
    if (count_++ < kLimits.list_errors) lines_ += line + '\n';
  }
  void Count(uint64_t more) { count_ += more; }
  bool any() const { return count_ > 0; }
  Error ToError() {
    if (count_ > kLimits.list_errors) {
      lines_ += fmt::format("... and {} more problems\n", count_ - kLimits.list_errors);
    }
    lines_ += "nothing was started";
    return {ErrorKind::kInvalid, std::move(lines_)};
  }

 private:
  uint64_t count_ = 0;
  std::string lines_;
};

}  // namespace spate::cli
