#include "core/provision/demand.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/units.h"

namespace spate::provision {
namespace {

// No class adds more, so that no sum overflows.
constexpr int64_t kMostTime = 1'000'000'000'000;
constexpr int64_t kMostWidth = 1'000'000'000;
// The life of a pilot, where nothing says how long it is, for tasks of which no time is known.
constexpr Duration kUnknownLife = Duration::Seconds(24 * 3600);

int64_t DivideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

}  // namespace

std::string WhyNotHere(const Pool& pool, const Needs& needs, std::string_view user) {
  const PoolPolicy& policy = pool.policy;
  if (!Serves(policy, user)) {
    return fmt::format("pool {} is {}'s", policy.name, policy.user);
  }
  if (!needs.on_node.empty()) {
    return fmt::format("is to run on node {} alone, which no new pilot is", needs.on_node);
  }
  Offer offer = OfferOf(pool.shape(), policy.name);
  if (pool.shape().milli_cpus == 0) {
    // Labels are known before anything else is; features come with the program.
    Needs labels;
    labels.milli_cpus = 0;
    labels.labels = needs.labels;
    if (auto why = spate::WhyNever(offer, labels)) return *why;
  } else if (FitCount(offer, needs) == 0) {
    return spate::WhyNever(offer, needs).value_or(fmt::format("does not fit {}", offer.node_name));
  }
  Duration longest = std::min(LongestTask(policy), pool.Life());
  if (needs.time > longest) {
    return fmt::format("may take {}, and a pilot of pool {} has {} for it",
                       FormatDuration(needs.time), policy.name, FormatDuration(longest));
  }
  return "";
}

void Demand::Refresh() {
  shape_ = pool_.shape();
  shape_known_ = shape_.milli_cpus > 0;
  offer_ = OfferOf(shape_, pool_.policy.name);
  user_ = pool_.policy.user;
  nodes_ = pool_.policy.nodes_per_pilot;
  horizon_ = pool_.Wait();
  life_ = pool_.Life();
}

bool Demand::IsStale() const {
  return shape_ != pool_.shape() || user_ != pool_.policy.user ||
         nodes_ != pool_.policy.nodes_per_pilot || horizon_ != pool_.Wait() ||
         life_ != pool_.Life();
}

void Demand::Renew(const std::map<ClassKey, ClassDemand>& classes) {
  Refresh();
  shares_.clear();
  times_.clear();
  left_ = signed_left_ = width_ = 0;
  probes_ = 0;
  for (const auto& [key, demand] : classes) Set(demand);
}

Share Demand::ShareOf(const ClassDemand& demand) const {
  Share share;
  if (demand.ready == 0 || pool_.closed) return share;
  if (!WhyNotHere(pool_, demand.needs, demand.user).empty()) return share;
  share.time = demand.needs.time;
  if (!shape_known_) {
    share.probe = true;
    return share;
  }
  auto fit = static_cast<int64_t>(FitCount(offer_, demand.needs)) * nodes_;
  Duration life = life_ == Duration::Max() ? kUnknownLife : life_;
  Duration takes = demand.takes.ns > 0        ? demand.takes
                   : demand.needs.time.ns > 0 ? demand.needs.time
                                              : life;
  takes = std::min(std::max(takes, Duration::Micros(1)), kUnknownLife * 30);
  __extension__ using Wide = __int128;
  // Rounded up: what takes no time worth counting needs a pilot all the same.
  Wide work = (Wide{demand.ready} * takes.ns + 999'999) / 1'000'000;
  Wide done = Wide{demand.running} * horizon_.millis();
  Wide left = (work - done) / fit;
  if (work > done && left == 0) left = 1;
  share.signed_left = static_cast<int64_t>(std::clamp(left, Wide{-kMostTime}, Wide{kMostTime}));
  share.left = std::max<int64_t>(share.signed_left, 0);
  share.width = std::clamp(DivideUp(int64_t{demand.ready} * 1000, fit), int64_t{1}, kMostWidth);
  return share;
}

void Demand::Set(const ClassDemand& demand) {
  Drop(demand.key);
  Share share = ShareOf(demand);
  if (share.empty()) return;
  left_ += share.left;
  signed_left_ += share.signed_left;
  width_ += share.width;
  probes_ += share.probe ? 1 : 0;
  times_.insert(share.time);
  shares_.emplace(demand.key, share);
}

void Demand::Drop(const ClassKey& key) {
  auto it = shares_.find(key);
  if (it == shares_.end()) return;
  const Share& share = it->second;
  left_ -= share.left;
  signed_left_ -= share.signed_left;
  width_ -= share.width;
  probes_ -= share.probe ? 1 : 0;
  times_.erase(times_.find(share.time));
  shares_.erase(it);
}

uint32_t Demand::Wanted(Duration ending) const {
  if (width_ == 0) return 0;
  int64_t left = std::max(left_, signed_left_ + ending.millis());
  if (left <= 0) return 0;
  Duration worth = std::min(horizon_, life_);
  int64_t by_work = DivideUp(left, std::max<int64_t>(worth.millis(), 1));
  int64_t by_tasks = DivideUp(width_, 1000);
  return static_cast<uint32_t>(std::min<int64_t>({by_work, by_tasks, UINT32_MAX}));
}

void Demand::CheckInvariants() const {
  int64_t left = 0;
  int64_t signed_left = 0;
  int64_t width = 0;
  size_t probes = 0;
  for (const auto& [key, share] : shares_) {
    CHECK(!share.empty());
    left += share.left;
    signed_left += share.signed_left;
    width += share.width;
    probes += share.probe ? 1 : 0;
  }
  CHECK(left == left_);
  CHECK(signed_left == signed_left_);
  CHECK(width == width_);
  CHECK(probes == probes_);
  CHECK(times_.size() == shares_.size());
}

}  // namespace spate::provision
