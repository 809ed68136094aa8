#include "hub/pruner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/units.h"

namespace spate::hub {
namespace {

// In one round: their rows are read for it, which takes the loop a few milliseconds.
constexpr size_t kAtOnce = 64;
// At least, of a job without output: its rows.
constexpr uint64_t kRowsOfJob = 2 << 10;
// A full store is not pruned once for each job that ends.
constexpr Duration kRoundEvery = Duration::Seconds(1);
constexpr Duration kCountEvery = Duration::Seconds(3600);
constexpr Duration kBehindFor = Duration::Seconds(600);
constexpr Duration kTellBehindEvery = Duration::Seconds(3600);

}  // namespace

Duration Pruner::pause() const {
  return std::clamp(rules_.forget_nodes, Duration::Seconds(1), Duration::Seconds(60));
}

void Pruner::TellAbout(HubFacts& facts) const {
  facts.kept = counted_ == Instant() ? 0 : kept();
  facts.keep_most = rules_.keep_bytes == UINT64_MAX ? 0 : rules_.keep_bytes;
  facts.keep_for = rules_.keep;
}

void Pruner::LookIn(Duration pause) {
  os::Loop& loop = jobs_.loop();
  timer_ = loop.At(loop.Now() + pause, [this] { RunRound(); });
}

void Pruner::RunRound() {
  const Instant now = jobs_.loop().Now();
  idle_ = kept() <= rules_.keep_bytes && now < next_;
  if (idle_) return LookIn(next_ - now);
  next_ = now + pause();
  // Names of nodes are kept as long as tasks that ran there.
  nodes_.ForgetAway(now - rules_.forget_nodes, jobs_.loop().Wall() - rules_.keep);
  Measure();
}

void Pruner::Synced() {
  if (!idle_ || kept() <= rules_.keep_bytes) return;
  idle_ = false;
  jobs_.loop().Cancel(timer_);
  LookIn(Duration());
}

void Pruner::Measure() {
  if (rules_.keep_bytes == UINT64_MAX) return Forget(0);
  const Instant now = jobs_.loop().Now();
  const bool count = counted_ == Instant() || now - counted_ >= kCountEvery;
  if (count) counted_ = now;
  aside_.Do("",
            [this, count, reader = jobs_.store().Reader(),
             change = jobs_.store().OutputChange()]() -> Aside::Then {
              // This thread may outlive the hub.
              auto rows = reader->SizeOfRows().value_or(0);
              std::optional<uint64_t> output;
              if (count) output = reader->SizeOfOutput().value_or(0);
              return [this, rows, output, change] { Measured(rows, output, change); };
            });
}

void Pruner::Measured(uint64_t rows, std::optional<uint64_t> output, int64_t change) {
  if (output) {
    output_ = *output;
    change_ = change;
  }
  rows_ = rows;
  Forget(kept() > rules_.keep_bytes ? kept() - rules_.keep_bytes : 0);
}

uint64_t Pruner::kept() const {
  const int64_t since = jobs_.store().OutputChange() - change_;
  return rows_ + static_cast<uint64_t>(std::max<int64_t>(static_cast<int64_t>(output_) + since, 0));
}

void Pruner::Forget(uint64_t excess) {
  const Instant old = jobs_.loop().Wall() - rules_.keep;
  uint64_t freed = 0;
  auto left = std::make_shared<size_t>(0);
  // The oldest first; those that are being removed already are not among them.
  const auto ended = jobs_.known().EndedBefore(excess > 0 ? Instant::Never() : old, kAtOnce);
  full_ = ended.size() == kAtOnce;
  for (JobId job : ended) {
    const KnownJobs::Job* entry = jobs_.known().Find(job);
    const bool too_old = entry != nullptr && entry->ended && *entry->ended < old;
    if (!too_old && freed >= excess) {
      full_ = false;
      break;
    }
    if (jobs_.Grows(job)) continue;
    ++*left;
    freed += jobs_.store().OutputOf(job) + kRowsOfJob;
    jobs_.hub().Unload(job);
    jobs_.ForgetJob(job, [this, left] {
      if (--*left > 0) return;
      if (full_) next_ = Instant();
      LookIn(full_ ? Duration() : kRoundEvery);
    });
  }
  NoteRound(full_);
  if (*left == 0) LookIn(kRoundEvery);
}

void Pruner::NoteRound(bool full) {
  const Instant now = jobs_.loop().Now();
  behind_since_ = full ? std::min(behind_since_, now) : Instant::Never();
  if (!full || now - behind_since_ < kBehindFor || now - told_behind_ < kTellBehindEvery) return;
  told_behind_ = now;
  log_(fmt::format("ended jobs come faster than they can be removed (--keep): {} are kept",
                   FormatSize(kept())));
}

}  // namespace spate::hub
