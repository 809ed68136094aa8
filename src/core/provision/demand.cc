#include "core/provision/demand.h"

#include <algorithm>

#include "base/check.h"
#include "core/model/limits.h"
#include "core/model/pool_facts.h"

namespace spate::provision {
namespace {

// No class adds more, so that no sum overflows.
constexpr int64_t kMostTime = 1'000'000'000'000;
constexpr int64_t kMostWidth = 1'000'000'000;
// The life of a pilot, where nothing says how long it is, for tasks of which no time is known.
constexpr Duration kUnknownLife = Duration::Seconds(24 * 3600);

int64_t DivideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

// The features of a pilot's program are known only when it has come: it may be newer than all
// before it. A pilot that is too old for the tasks counts as fruitless, so the next ones come ever
// later.
Needs WithoutFeatures(Needs needs) {
  std::erase_if(needs.labels,
                [](const std::string& label) { return label.starts_with(kFeatureMark); });
  return needs;
}

// Tasks, or processes of gangs, for which an idle node has room at once. Processes of one gang
// share a slot, as many as its shape gives to a node.
uint32_t RoomOf(const Offer& offer, const Needs& needs, const GangShape& gang) {
  if (gang.empty()) return FitCount(offer, needs);
  Offer idle = offer;
  idle.slots = kLimits.gang_procs;
  const uint32_t procs = FitCount(idle, needs);
  if (gang.nodes == 0) return procs;
  const uint32_t part = gang.procs_per_node();
  const uint32_t parts = std::min(procs / part, gang.whole ? 1u : offer.slots);
  return parts * part;
}

// How many of the pool's nodes one gang takes, where each has room for so many of its processes.
uint32_t NodesOf(const GangShape& gang, uint32_t room) {
  return gang.nodes > 0 ? gang.nodes : static_cast<uint32_t>(DivideUp(gang.procs, room));
}

// A gang that may run only on nodes of this pool is helped by no others.
std::optional<Reason> WhyGangNotFit(const Pool& pool, const Needs& needs, const GangShape& gang,
                                    uint32_t room) {
  const PoolPolicy& policy = pool.policy;
  const std::string own = std::string(kPoolLabel) + policy.name;
  const uint64_t most = uint64_t{policy.max_pilots} * policy.nodes_per_pilot;
  if (NodesOf(gang, room) <= most || !std::ranges::binary_search(needs.labels, own)) {
    return std::nullopt;
  }
  return Reason{ReasonKind::kPoolTooSmall,
                {NodesOf(gang, room), static_cast<int64_t>(most)},
                {},
                {policy.name}};
}

// Has the contract of WhyNotHere, for needs without features.
std::optional<Reason> WhyNotFit(const Pool& pool, const Needs& needs, const GangShape& gang,
                                std::string_view user) {
  const PoolPolicy& policy = pool.policy;
  if (!Serves(policy, user)) {
    return Reason{ReasonKind::kPoolOfOther, {}, {}, {policy.name, policy.user}};
  }
  if (!needs.on_node.empty()) {
    return Reason{ReasonKind::kOnPilot, {}, {}, {needs.on_node}};
  }
  Offer offer = OfferOf(pool.shape(), policy.name);
  if (pool.shape().milli_cpus == 0) {
    // Labels are known before anything else is.
    Needs labels;
    labels.milli_cpus = 0;
    labels.labels = needs.labels;
    if (auto why = spate::WhyNever(offer, labels)) return why;
  } else if (const uint32_t room = RoomOf(offer, needs, gang); room == 0) {
    return spate::WhyNever(offer, needs)
        .value_or(Reason{ReasonKind::kDoesNotFit, {}, {}, {offer.node_name}});
  } else if (!gang.empty()) {
    if (auto why = WhyGangNotFit(pool, needs, gang, room)) return why;
  }
  Duration longest = std::min(LongestTask(policy), pool.Life());
  if (needs.time > longest) {
    return Reason{ReasonKind::kPilotTooShort, {}, {needs.time, longest}, {policy.name}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> WhyNotHere(const Pool& pool, const Needs& needs, const GangShape& gang,
                                 std::string_view user) {
  return WhyNotFit(pool, WithoutFeatures(needs), gang, user);
}

void Demand::Refresh() {
  shape_ = pool_.shape();
  shape_known_ = shape_.milli_cpus > 0;
  spread_ = pool_.policy.spread;
  offer_ = OfferOf(shape_, pool_.policy.name);
  if (!shape_known_ && (spread_ || shape_.slots > 0)) {
    offer_.milli_cpus = offer_.slots * kMilliCpu;
  }
  user_ = pool_.policy.user;
  nodes_ = pool_.policy.nodes_per_pilot;
  horizon_ = pool_.Wait();
  life_ = pool_.Life();
}

bool Demand::IsStale() const {
  return shape_ != pool_.shape() || spread_ != pool_.policy.spread || user_ != pool_.policy.user ||
         nodes_ != pool_.policy.nodes_per_pilot || horizon_ != pool_.Wait() ||
         life_ != pool_.Life();
}

void Demand::Renew(const std::map<ClassKey, ClassDemand>& classes) {
  Refresh();
  shares_.clear();
  times_.clear();
  at_once_.clear();
  left_ = signed_left_ = width_ = 0;
  probes_ = 0;
  for (const auto& [key, demand] : classes) Set(demand);
}

Share Demand::ShareOf(const ClassDemand& demand) const {
  Share share;
  if (demand.ready == 0 || pool_.closed) return share;
  const Needs needs = WithoutFeatures(demand.needs);
  if (WhyNotFit(pool_, needs, demand.gang, demand.user)) return share;
  share.time = demand.needs.time;
  const uint32_t room = RoomOf(offer_, needs, demand.gang);
  if (!shape_known_ && (room == 0 || needs.memory > shape_.memory)) {
    share.probe = true;
    return share;
  }
  auto fit = static_cast<int64_t>(room) * nodes_;
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
  if (share.left > 0 && !demand.gang.empty()) {
    share.at_once = static_cast<uint32_t>(DivideUp(NodesOf(demand.gang, room), nodes_));
  }
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
  if (share.at_once > 0) at_once_.insert(share.at_once);
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
  if (share.at_once > 0) at_once_.erase(at_once_.find(share.at_once));
  shares_.erase(it);
}

uint32_t Demand::Wanted(Duration ending) const {
  if (width_ == 0) return 0;
  int64_t left = std::max(left_, signed_left_ + ending.millis());
  if (left <= 0 && !spread_) return 0;
  Duration worth = std::min(horizon_, life_);
  int64_t by_work = DivideUp(left, std::max<int64_t>(worth.millis(), 1));
  int64_t by_tasks = DivideUp(width_, 1000);
  const int64_t wanted = std::min<int64_t>({spread_ ? by_tasks : by_work, by_tasks, UINT32_MAX});
  return std::max(static_cast<uint32_t>(wanted), at_once());
}

void Demand::CheckInvariants() const {
  int64_t left = 0;
  int64_t signed_left = 0;
  int64_t width = 0;
  size_t probes = 0;
  size_t gangs = 0;
  for (const auto& [key, share] : shares_) {
    CHECK(!share.empty());
    left += share.left;
    signed_left += share.signed_left;
    width += share.width;
    probes += share.probe ? 1 : 0;
    gangs += share.at_once > 0 ? 1 : 0;
  }
  CHECK(gangs == at_once_.size());
  CHECK(left == left_);
  CHECK(signed_left == signed_left_);
  CHECK(width == width_);
  CHECK(probes == probes_);
  CHECK(times_.size() == shares_.size());
}

}  // namespace spate::provision
