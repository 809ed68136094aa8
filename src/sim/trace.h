// Trace: the facts of a world as text: hashed whole, the last ones kept, and all of them printed
// where there is a printer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/fact.h"

namespace spate::sim {

// Takes whole lines, each with its newline.
using Printer = std::function<void(std::string_view)>;

class Trace {
 public:
  static constexpr size_t kKept = 40;

  explicit Trace(Printer print) : print_(std::move(print)) {}

  void Observe(Instant now, const Fact& fact);
  uint64_t hash() const { return hash_; }
  uint64_t count() const { return count_; }
  // The newest lines, the oldest of them first.
  std::vector<std::string> Last() const;

 private:
  Printer print_;
  uint64_t count_ = 0;
  uint64_t hash_ = 0xcbf29ce484222325u;
  std::vector<std::string> lines_ = std::vector<std::string>(kKept);
};

}  // namespace spate::sim
