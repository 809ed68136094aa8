// The bar: one line on the terminal with what is done, how fast, and for how long still. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/time.h"

namespace spate::cli {

// Tasks a second, of the last seconds.
class RateMeter {
 public:
  // `ended`: tasks that had ended before, if Note counts them.
  void Start(Instant now, uint64_t ended = 0) {
    samples_.assign(1, {now, ended});
    last_ = {};
  }
  // `ended`: tasks that have ended by now.
  void Note(Instant now, uint64_t ended);
  // 0 while nothing can be said.
  double PerSecond(Instant now) const;

 private:
  struct Sample {
    Instant when;
    uint64_t ended = 0;
  };
  std::deque<Sample> samples_;  // from oldest; about kWindow back, a step apart
  Sample last_;
};

struct BarState {
  uint64_t done = 0;   // tasks that have succeeded
  uint64_t ended = 0;  // in any way: what is left is the rest
  uint64_t total = 0;
  bool open = false;  // the total may grow
  uint64_t failed = 0;
  uint32_t running = 0;
  double rate = 0;    // of ends, a second; 0: unknown
  std::string pause;  // why nothing is started; empty: it is
  std::string left;   // what ended commands have left running, and is waited for
  bool colour = false;
};

// At most `width` - 1 columns, so that no terminal wraps it. No newline, no escapes other than
// colour.
std::string DrawBar(const BarState& state, int width);
// The same in words, for a log: "12 of 40 tasks done (30%), 1 failed, 4 running, 2.5/s, ETA 11s".
std::string ProgressLine(const BarState& state);

}  // namespace spate::cli
