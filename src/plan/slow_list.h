// SlowList: reports once, after a second, that a list is still being read from a pipe or terminal.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "plan/task_list.h"

namespace spate::cli {

class SlowList {
 public:
  // Reports by context.on_slow. Regular files end, so they are not reported.
  SlowList(const RunOptions& options, const LoadContext& context, int fd, std::string name)
      : fd_(fd),
        name_(std::move(name)),
        may_follow_(context.may_follow && !options.sources.is_graph()) {
    auto info = os::StatFd(fd, name_);
    const bool is_quiet = options.show.form == OutputForm::kQuiet;
    if (info && info->kind != os::FileKind::kFile && !is_quiet) report_ = context.on_slow;
  }
  // Before a read, which may block.
  void BeforeRead() {
    if (!report_) return;
    const Duration left = due_ - Instant{os::MonotonicNanos()};
    if (left.ns > 0 && os::WaitReadable(fd_, left)) return;
    std::exchange(report_, nullptr)(fmt::format(
        "reading {} to its end before anything starts (lines so far: {}){}", name_,
        FormatCount(lines_), may_follow_ ? "; to start tasks as lines arrive, add --follow" : ""));
  }
  void AfterRead(std::string_view text) {
    if (report_) lines_ += static_cast<uint64_t>(std::ranges::count(text, '\n'));
  }

 private:
  const int fd_;
  const std::string name_;
  const bool may_follow_;
  const Instant due_ = Instant{os::MonotonicNanos()} + Duration::Seconds(1);
  uint64_t lines_ = 0;
  std::function<void(std::string_view)> report_;  // null: done, or nothing to report
};

}  // namespace spate::cli
