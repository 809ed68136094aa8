#include "hub/pruner.h"

#include <algorithm>
#include <memory>

namespace spate::hub {
namespace {

// A few at a time, each of which is some work for the journal.
constexpr size_t kAtOnce = 20;
constexpr Duration kNext = Duration::Millis(20);

}  // namespace

Duration Pruner::pause() const {
  return std::clamp(rules_.forget_nodes, Duration::Seconds(1), Duration::Seconds(60));
}

void Pruner::Prune() {
  const Instant now = jobs_.loop().Now();
  // Names of nodes are kept as long as tasks that ran there.
  nodes_.ForgetAway(now - rules_.forget_nodes, now - rules_.keep);
  auto old = jobs_.known().EndedBefore(now - rules_.keep, kAtOnce);
  for (JobId job : old) {
    if (jobs_.Grows(job)) continue;
    jobs_.hub().Unload(job);
    jobs_.ForgetJob(job, [] {});
  }
  bool more = old.size() == kAtOnce;
  // The journal does things in order: all that it was asked before is done when this is.
  jobs_.WhenSettled([this, more] {
    if (more) return PruneIn(kNext);
    if (rules_.keep_bytes != UINT64_MAX) return PruneBySize();
    PruneIn(pause());
  });
}

void Pruner::PruneIn(Duration pause) {
  os::Loop& loop = jobs_.loop();
  timer_ = loop.At(loop.Now() + pause, [this] { Prune(); });
}

// The oldest first, a few at a time, until what is left is small enough.
void Pruner::PruneBySize() {
  aside_.Do("", [this, reader = jobs_.store().Reader(), most = rules_.keep_bytes]() -> Aside::Then {
    // This thread may outlive the hub.
    auto kept = reader->SizeOfAll();
    bool too_much = kept && *kept > most;
    return [this, too_much, bytes = too_much ? *kept - most : 0] {
      too_much ? ForgetOldest(bytes) : PruneIn(pause());
    };
  });
}

// So many that `bytes` of output go, and measures again when they have gone.
void Pruner::ForgetOldest(uint64_t bytes) {
  uint64_t freed = 0;
  auto left = std::make_shared<size_t>(0);
  for (JobId job : jobs_.known().EndedBefore(jobs_.loop().Now(), kAtOnce)) {
    if (freed >= bytes) break;
    if (jobs_.Grows(job)) continue;
    ++*left;
    freed += jobs_.store().OutputOf(job);
    jobs_.hub().Unload(job);
    jobs_.ForgetJob(job, [this, left] {
      if (--*left == 0) PruneBySize();
    });
  }
  if (*left == 0) PruneIn(pause());
}

}  // namespace spate::hub
