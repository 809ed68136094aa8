#include "core/provision/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace spate::provision {
namespace {

bool IsOver(Instant since, Duration limit, Instant now) {
  return limit != Duration::Max() && now - since > limit;
}

}  // namespace

void Watch::SetStatus(JobStatus status, Instant now) {
  if (status == status_) return;
  if (status_ == JobStatus::kSuspended && pinged_) last_ping_ = now;
  status_ = status;
  since_ = now;
}

void Watch::Ping(Instant now) {
  pinged_ = true;
  last_ping_ = now;
}

std::optional<std::string> Watch::Verdict(const WatchTimes& times, Instant now) const {
  auto has_been = [&](const char* what) {
    return fmt::format("it was {} for {}", what, FormatDuration(now - since_));
  };
  if (!pinged_) {
    if (status_ == JobStatus::kInit && IsOver(since_, times.init, now)) {
      return has_been("unknown to the batch system");
    }
    if (status_ == JobStatus::kError && IsOver(since_, times.error, now)) {
      return has_been("in an error state");
    }
    if (status_ == JobStatus::kRunning && IsOver(since_, times.never_joined, now)) {
      return fmt::format("it has run for {}, and no node of it has come",
                         FormatDuration(now - since_));
    }
    return std::nullopt;
  }
  bool spared = status_ == JobStatus::kSuspended && IsOver(since_, times.suspended_from, now) &&
                !IsOver(since_, times.suspended_until, now);
  if (spared || !IsOver(last_ping_, times.silent, now)) return std::nullopt;
  return fmt::format("nothing was heard of it for {}", FormatDuration(now - last_ping_));
}

Instant Watch::NextVerdict(const WatchTimes& times, Instant now) const {
  Instant next = Instant::Never();
  auto consider = [&](Instant from, Duration limit) {
    if (limit == Duration::Max()) return;
    Instant at = from + limit + Duration{1};
    if (at > now) next = std::min(next, at);
  };
  if (pinged_) {
    consider(last_ping_, times.silent);
    if (status_ == JobStatus::kSuspended) {
      consider(since_, times.suspended_from);
      consider(since_, times.suspended_until);
    }
  } else if (status_ == JobStatus::kInit) {
    consider(since_, times.init);
  } else if (status_ == JobStatus::kError) {
    consider(since_, times.error);
  } else if (status_ == JobStatus::kRunning) {
    consider(since_, times.never_joined);
  }
  return next;
}

}  // namespace spate::provision
