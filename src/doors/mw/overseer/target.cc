#include "doors/mw/overseer/target.h"

#include <algorithm>

namespace spate::mw {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// Longer ones are as good as this, and sums of instants then fit.
constexpr Duration kLongestInterval = Duration::Seconds(366 * 86'400);
constexpr Duration kLeastSlack = Duration::Seconds(60);
// A program is loaded and has connected by then, also from a slow file system.
constexpr Duration kLongestSettle = Duration::Seconds(60);
// The file's own time has no more than seconds.
constexpr Duration kShortestSettle = Duration::Seconds(1);

// A slave's start may be heard so much later here than at its master.
constexpr Duration kNewsDelay = Duration::Seconds(2);

constexpr uint32_t kFailuresInRow = 3;
constexpr Duration kFirstPause = Duration::Seconds(5);
constexpr Duration kLongestPause = Duration::Seconds(300);

// Time that a file states for itself, but not later than `now`: the clock of its machine may be
// ahead, or have stepped.
Instant WrittenAt(const ResourceFile& file, Instant now) {
  return {std::clamp<int64_t>(file.timestamp, 0, now.ns / kSecond) * kSecond};
}

Duration PauseAfter(uint32_t pauses) {
  return std::min(kLongestPause, kFirstPause * (int64_t{1} << std::min(pauses, 10u)));
}

}  // namespace

Duration SlaveTarget::Interval() const {
  int64_t most = kLongestInterval.ns / kSecond;
  return Duration::Seconds(std::clamp<int64_t>(file_->update_interval, 0, most));
}

Duration SlaveTarget::Settle() const {
  return std::clamp(Interval(), kShortestSettle, kLongestSettle);
}

void SlaveTarget::Read(const ResourceFile& file, Instant now) {
  if (!file_) {
    written_after_ = written_before_ = WrittenAt(file, now);
  } else if (*file_ != file) {
    written_after_ = read_at_;
    written_before_ = now;
  }
  file_ = file;
  read_at_ = now;
}

void SlaveTarget::Observe(std::span<const SlaveSeen> slaves, Instant now) {
  queued_ = 0;
  std::map<uint64_t, Instant> running;
  for (const SlaveSeen& slave : slaves) {
    if (!slave.running) {
      ++queued_;
      continue;
    }
    auto known = running_.find(slave.id);
    // Those of an earlier overseer may run for long.
    Instant first = seen_ ? now : std::min(slave.since, now);
    Instant since = known != running_.end() ? known->second : first;
    running.emplace(slave.id, since);
    // One that was started after the last failure stays: the others may be tried again.
    if (file_ && since > last_failure_ && since + Settle() <= now) early_failures_ = pauses_ = 0;
  }
  running_ = std::move(running);
  seen_ = true;
  if (!file_ || Surplus() == 0) {
    surplus_since_.reset();
  } else if (!surplus_since_) {
    surplus_since_ = now;
  }
}

// Those that are queued have not connected, so only they may be too many.
uint64_t SlaveTarget::Surplus() const { return queued_ - std::min(queued_, counts().missing); }

void SlaveTarget::Ended(bool done, Duration ran, Instant now) {
  if (done) early_failures_ = pauses_ = 0;
  if (done || !file_ || ran >= Settle()) return;
  last_failure_ = now;
  ++early_failures_;
  // Among failures at the same time only one makes the pause longer.
  if (early_failures_ >= kFailuresInRow && now >= retry_at_)
    retry_at_ = now + PauseAfter(pauses_++);
}

FilePhase SlaveTarget::Phase(Instant now) const {
  if (!file_) return FilePhase::kUnread;
  if (file_->finished) return file_->failed ? FilePhase::kFailed : FilePhase::kFinished;
  Duration patience = Interval() + std::max(Interval(), kLeastSlack);
  return now > written_before_ + patience ? FilePhase::kStale : FilePhase::kActive;
}

SlaveCounts SlaveTarget::counts() const {
  SlaveCounts counts{.queued = queued_, .running = running_.size()};
  if (!file_) return counts;
  counts.missing = file_->finished ? 0 : static_cast<uint64_t>(file_->slaves_needed);
  counts.connected = static_cast<uint64_t>(
      std::ranges::count_if(running_, [&](const auto& each) { return IsConnected(each.second); }));
  return counts;
}

std::optional<Instant> SlaveTarget::backs_off() const {
  if (early_failures_ < kFailuresInRow) return std::nullopt;
  return retry_at_;
}

SlaveOrders SlaveTarget::Decide(Instant now, uint64_t most) const {
  FilePhase phase = Phase(now);
  if (phase == FilePhase::kUnread || !seen_) return {};
  if (phase != FilePhase::kActive) return {.withdraw = queued_};
  const SlaveCounts now_there = counts();
  // One that is queued may run already, and its master know it: then there are not too many.
  const bool sure =
      now_there.missing == 0 || (surplus_since_ && *surplus_since_ + kNewsDelay <= now);
  if (sure && Surplus() > 0) return {.withdraw = Surplus()};
  if (backs_off()) return DecideInBackOff(now, most);
  uint64_t coming = queued_ + now_there.running - now_there.connected;
  uint64_t there = queued_ + now_there.running;
  uint64_t room = most - std::min(most, there);
  return {.start = std::min(room, now_there.missing - std::min(now_there.missing, coming))};
}

// One at a time, until one stays.
SlaveOrders SlaveTarget::DecideInBackOff(Instant now, uint64_t most) const {
  const uint64_t allowed = now >= retry_at_ ? 1 : 0;
  if (queued_ > allowed) return {.withdraw = queued_ - allowed};
  auto tries = static_cast<uint64_t>(std::ranges::count_if(
      running_, [&](const auto& each) { return each.second > last_failure_; }));
  bool needed = counts().missing > 0 && queued_ + running_.size() < most;
  return {.start = needed && queued_ + tries == 0 ? allowed : 0};
}

}  // namespace spate::mw
