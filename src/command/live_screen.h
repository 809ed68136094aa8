// A text on the terminal's alternate screen, redrawn again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "command/history_call.h"
#include "os/real_loop.h"

namespace spate::cli::command {

inline constexpr Duration kDrawEvery = Duration::Seconds(1);

class LiveScreen {
 public:
  // From now on Ctrl-C ends the drawing, not the process.
  static Result<std::unique_ptr<LiveScreen>> Open(HistoryCall& call);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Lines that fit now, one kept free.
  static uint64_t Lines();
  // Draws, then waits for the next turn if there are to be `more`. False: that was the last one.
  Result<bool> Draw(std::string_view text, bool more, Duration every = kDrawEvery);
  bool interrupted() const { return interrupted_; }

 private:
  LiveScreen(HistoryCall& call, std::unique_ptr<os::RealLoop> loop);

  HistoryCall& call_;
  const std::unique_ptr<os::RealLoop> loop_;
  bool interrupted_ = false;
};

}  // namespace spate::cli::command
