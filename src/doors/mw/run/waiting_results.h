// Results that have come and that the master has not taken: in memory while there is room, beyond
// that their values are in files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <spate/mw.h>

#include "link/output_memory.h"

namespace spate::mw {

struct WaitingResult {
  result what;            // without its value, where that is in a file
  std::string file;       // empty: there is none
  uint64_t cost = 0;      // bytes of memory that all of it takes, or would take
  link::HeldMemory held;  // of these
};

// Thread: one at a time. Files are in `folder`, whose owner removes them at the end.
class ResultKeeper {
 public:
  ResultKeeper(std::shared_ptr<link::OutputMemory> memory, std::string folder)
      : memory_(std::move(memory)), folder_(std::move(folder)) {}
  WaitingResult Store(result what);

 private:
  const std::shared_ptr<link::OutputMemory> memory_;
  const std::string folder_;
  uint64_t files_ = 0;
};

// The whole result. One whose value cannot be read back has failed, and says why.
result Whole(const WaitingResult& waiting);
// The same, and nothing is kept of it. Thread: any.
result Taken(WaitingResult waiting);
// Nobody wants it. Thread: any.
void Discard(WaitingResult waiting);

}  // namespace spate::mw
