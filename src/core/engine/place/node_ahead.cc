#include "core/engine/place/node_ahead.h"

#include <algorithm>
#include <utility>

namespace spate::engine::place {
namespace {

// A gang that has outlived its estimate is expected to end at the next moment.
constexpr Duration kMoment = Duration::Millis(1);

// When the last of a job's single tasks there has ended, by their planned time, else by what its
// tasks took lately, there or elsewhere. By what they took there so far many more might stand in
// line than do; none does where all of them have room.
Instant EndOfTasks(const Node& node, const Board& board, Instant now, JobId id,
                   const JobHere& here) {
  Duration each = here.planned.ns > 0 ? here.planned : here.wall;
  if (each.ns == 0) each = board.FindJob(id)->wall;
  if (each.ns == 0 || here.stopped) return Instant::Never();
  const uint32_t most = node.crowded ? here.leased - 1 : 0;
  const uint32_t ahead = std::min(board.AheadOf(node, here), most);
  const Instant given = here.given_at == Instant() ? now : here.given_at;
  return given + each * (1 + static_cast<int64_t>(ahead));
}

// Calls fn(runs, held) for all that runs there. The end is Never() where nobody knows it, and may
// be past where something takes longer than was said.
template <typename Fn>
void ForEachRunning(const Node& node, const Board& board, Instant now, Fn fn) {
  for (const auto& [key, part] : node.parts) {
    fn(RunsUntil{key.job, key.index, part.until}, part.held);
  }
  for (const auto& [job, here] : node.jobs) {
    if (here.leased == 0) continue;
    fn(RunsUntil{job, std::nullopt, EndOfTasks(node, board, now, job, here)}, here.held);
  }
}

}  // namespace

std::optional<RunsUntil> LastAfter(const Node& node, const Board& board, Instant now,
                                   Instant after) {
  std::optional<RunsUntil> last;
  ForEachRunning(node, board, now, [&](const RunsUntil& runs, const Amounts&) {
    if (runs.end <= after || runs.end == Instant::Never()) return;
    if (!last || runs.end > last->end) last = runs;
  });
  return last;
}

std::optional<Overdue> FindOverdue(const Node& node, const Board& board, Instant now) {
  std::optional<Overdue> overdue;
  ForEachRunning(node, board, now, [&](const RunsUntil& runs, const Amounts&) {
    if (runs.end > now) return;
    const bool more = overdue.has_value();
    if (!overdue || runs.end < overdue->first.end) overdue = {runs, more};
    overdue->more = more;
  });
  return overdue;
}

void NodeAhead::LookAhead() {
  if (std::exchange(known_, true)) return;
  std::vector<std::pair<Instant, const Amounts*>> ends;
  overdue_ = {};
  ForEachRunning(*node_, *board_, now_, [&](const RunsUntil& runs, const Amounts& amounts) {
    const Instant end = runs.end;
    if (end == Instant::Never()) return;
    if (end <= now_) overdue_.Add(amounts);
    ends.emplace_back(std::max(end, now_ + kMoment), &amounts);
  });
  std::ranges::sort(ends);
  held_.clear();
  Amounts held = node_->held;
  for (const auto& [at, amounts] : ends) {
    held.Subtract(*amounts);
    if (held_.empty() || held_.back().at != at) held_.push_back({at, {}});
    held_.back().amounts = held;
  }
}

NodeAhead::LastEnds NodeAhead::EndsUntil(Instant until, const std::string* user) const {
  LastEnds last;
  ForEachRunning(*node_, *board_, now_, [&](const RunsUntil& runs, const Amounts& amounts) {
    const Instant end = runs.end;
    const bool own = board_->FindJob(runs.job)->user_name == user;
    last.own_unknown |= own && end == Instant::Never();
    const bool told = !runs.task && node_->jobs.at(runs.job).planned.ns > 0;
    if (own && now_ >= end + (told ? Duration() : kLittle)) {
      last.overdue.Add(amounts);
      last.overdue_since = std::min(last.overdue_since, end);
      last.over_time |= told;
    }
    Instant& latest = own ? last.own : last.others;
    if (end <= until && end != Instant::Never()) latest = std::max(latest, end);
  });
  return last;
}

Amounts NodeAhead::HeldAt(Instant when) {
  Amounts held = node_->held;
  if (when > now_) {
    LookAhead();
    auto behind = std::ranges::upper_bound(held_, when, {}, &Held::at);
    if (behind != held_.begin()) held = std::prev(behind)->amounts;
  }
  for (const Claim& claim : claims_) {
    if (claim.from <= when && when < claim.to) held.Add(claim.amounts);
  }
  return held;
}

uint64_t NodeAhead::FreeCpus() const {
  if (node_->held.At(Amounts::kSlots) >= node_->offer.slots) return 0;
  const uint64_t held = node_->held.At(Amounts::kCpus);
  return node_->offer.milli_cpus > held ? node_->offer.milli_cpus - held : 0;
}

uint64_t NodeAhead::LastingCpus() {
  uint64_t free = FreeCpus();
  for (const Claim& claim : claims_) {
    if (free == 0) break;
    const uint64_t held = HeldAt(claim.from).At(Amounts::kCpus);
    free = std::min(free, node_->offer.milli_cpus > held ? node_->offer.milli_cpus - held : 0);
  }
  return free;
}

// Running work only ends, so only promises take away what is free at the beginning. A gang that
// starts now must not count on ends that are overdue: otherwise it would take what is
// free again and again, next to a promise that waits for such an end.
uint32_t NodeAhead::FitIn(const TaskClass& of_gang, Instant from, Instant to) {
  if (from == now_ && claims_.empty()) return ProcsThatFit(node_->offer, node_->held, of_gang);
  uint32_t fit = ProcsThatFit(node_->offer, HeldAt(from), of_gang);
  for (const Claim& claim : claims_) {
    if (fit == 0 || claim.from <= from || claim.from >= to) continue;
    Amounts held = HeldAt(claim.from);
    if (from == now_) held.Add(overdue_);
    fit = std::min(fit, ProcsThatFit(node_->offer, held, of_gang));
  }
  return fit;
}

Instant NodeAhead::NextTurn(Instant when, Duration length) {
  LookAhead();
  Instant next = Instant::Never();
  auto look = [&](Instant at) {
    if (at > when) next = std::min(next, at);
  };
  auto behind = std::ranges::upper_bound(held_, when, {}, &Held::at);
  if (behind != held_.end()) look(behind->at);
  for (const Claim& claim : claims_) {
    look(claim.to);
    if (length.ns > 0 && claim.from != Instant::Never()) look(claim.from - length + Duration{1});
  }
  return next;
}

}  // namespace spate::engine::place
