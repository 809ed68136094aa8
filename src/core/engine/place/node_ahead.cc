#include "core/engine/place/node_ahead.h"

#include <algorithm>
#include <utility>

namespace spate::engine::place {
namespace {

// What has outlived its estimate is expected to end at the next moment.
constexpr Duration kMoment = Duration::Millis(1);

// When the last of a job's single tasks there has ended, by their planned time, else by what they
// took there lately.
Instant EndOfTasks(const JobHere& here, uint32_t ahead, Instant now) {
  const Duration each = here.planned.ns > 0 ? here.planned : here.wall;
  if (each.ns == 0) return Instant::Never();
  const Instant given = here.given_at == Instant() ? now : here.given_at;
  return std::max(given + each * (1 + static_cast<int64_t>(ahead)), now + kMoment);
}

}  // namespace

NodeAhead::NodeAhead(NodeId id, Node& node, const Board& board, Instant now)
    : id_(id), node_(&node), held_(node.held) {
  for (const auto& [key, part] : node.parts) {
    const bool known = part.until != Instant::Never();
    releases_.push_back({known ? std::max(part.until, now + kMoment) : part.until, part.held});
  }
  for (const auto& [job, here] : node.jobs) {
    if (here.leased == 0) continue;
    releases_.push_back({EndOfTasks(here, board.AheadOf(node, here), now), here.held});
  }
  std::ranges::sort(releases_, {}, &Release::at);
}

void NodeAhead::Start(const Amounts& amounts, Instant until) {
  held_.Add(amounts);
  auto at = std::ranges::upper_bound(releases_, until, {}, &Release::at);
  releases_.insert(at, {until, amounts});
}

Amounts NodeAhead::HeldAt(Instant when) const {
  Amounts held = held_;
  for (const Release& release : releases_) {
    if (release.at > when || release.at == Instant::Never()) break;
    held.Subtract(release.amounts);
  }
  for (const Claim& claim : claims_) {
    if (claim.from <= when && when < claim.to) held.Add(claim.amounts);
  }
  return held;
}

// What runs only ends, so nothing but a promise takes away what is free at the beginning.
uint32_t NodeAhead::FitIn(const TaskClass& of_gang, Instant from, Instant to) const {
  uint32_t fit = ProcsThatFit(node_->offer, HeldAt(from), of_gang);
  for (const Claim& claim : claims_) {
    if (fit == 0 || claim.from <= from || claim.from >= to) continue;
    fit = std::min(fit, ProcsThatFit(node_->offer, HeldAt(claim.from), of_gang));
  }
  return fit;
}

std::vector<Instant> NodeAhead::Turns(Duration length, Instant now) const {
  std::vector<Instant> turns;
  auto add = [&](Instant at) {
    if (at > now && at != Instant::Never()) turns.push_back(at);
  };
  for (const Release& release : releases_) add(release.at);
  for (const Claim& claim : claims_) {
    add(claim.to);
    if (length.ns > 0 && claim.from != Instant::Never()) add(claim.from - length + Duration{1});
  }
  std::ranges::sort(turns);
  turns.erase(std::ranges::unique(turns).begin(), turns.end());
  return turns;
}

}  // namespace spate::engine::place
