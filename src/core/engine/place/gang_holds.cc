// Decides whom the promises of a pass bind (GangPromise::Binds), and derives the room that is
// kept on nodes, and the idle part of it that its user is charged for.
#include <algorithm>
#include <map>
#include <utility>

#include "core/engine/place/gangs.h"

namespace spate::engine::place {
namespace {

// A gang of which nobody knows when it starts binds nobody for kOpen, then all for kDrain; then
// both are twice as long, and so on for kRounds. So tasks of which nothing is known keep it waiting
// no longer than about 16 times what they take, as long as that is an hour at most; and such a gang
// costs the others no more than a sixth of the nodes.
constexpr Duration kOpen = Duration::Seconds(300);
constexpr Duration kDrain = Duration::Seconds(60);
constexpr int kRounds = 7;

// A promise that is not kept for so long, for so many times what it was to take, and for so many
// times what tasks take on the average, was made by estimates that say nothing.
constexpr Duration kLate = Duration::Seconds(60);
constexpr int64_t kLateTimes = 3;
constexpr int64_t kLateTasks = 2;

// True if nodes drain for a gang whose start nobody knows, `elapsed` after that began; and the time
// when that changes.
struct Phase {
  bool drains = false;
  Duration until;
};
Phase PhaseAt(Duration elapsed) {
  Duration open = kOpen;
  Duration drain = kDrain;
  Duration end;
  for (int round = 1;; ++round) {
    if (elapsed < end + open) return {false, end + open};
    if (elapsed < end + open + drain) return {true, end + open + drain};
    end = end + open + drain;
    if (round >= kRounds) continue;
    open = open * 2;
    drain = drain * 2;
  }
}

// So much of what a gang is to have stands idle now, beside what is taken: nothing where some
// resource is taken as a whole, as nobody else could use the rest.
Amounts IdleOf(const Offer& offer, const Amounts& taken, const Amounts& wanted) {
  const Amounts all = AllOf(offer);
  Amounts idle;
  for (size_t kind = 0; kind < Amounts::kNamed + offer.named.size(); ++kind) {
    const uint64_t left = all.At(kind) - std::min(all.At(kind), taken.At(kind));
    if (left == 0 && kind < Amounts::kNamed && all.At(kind) > 0) return {};
    idle.Add(kind, std::min(left, wanted.At(kind)));
  }
  return idle;
}

}  // namespace

// ---- Binding

Instant Gangs::LateAt(const GangPromise& promise) const {
  return promise.said + kLate + (promise.said - promise.said_at) * kLateTimes +
         board_.mean_wall() * kLateTasks;
}

// Decides whom the promise binds, by what the gang waits for.
void Gangs::Judge(GangPromise& promise) {
  using Unbound = GangPromise::Unbound;
  const ClassKey key{promise.job, promise.request};
  auto before = std::ranges::find_if(
      *before_, [&](const GangPromise& each) { return ClassKey{each.job, each.request} == key; });
  const bool again = before != before_->end() && !has_started_.contains(key);
  const Job& job = *board_.FindJob(promise.job);
  promise.late = again && before->late;
  const NodeAhead::LastEnds last = LookForOwn(promise, job);
  if (AwaitsAnswer(job, promise.places)) {
    promise.unbound = Unbound::kSilentNode;
    promise.waits_for_own = true;
    promise.start = Instant::Never();
  } else if (again && IsKept(promise, *before, last)) {
    return LookAgain(promise);
  } else if (promise.start != Instant::Never() && !promise.late) {
    if (IsOverShare(*job.user)) promise.unbound = Unbound::kOverShare;
    if (broke_.contains(*job.user_name)) promise.unbound = Unbound::kBroke;
  }
  if (promise.start != Instant::Never() && !promise.late) {
    promise.binds = promise.waits_for_own ? GangPromise::Binds::kOwnUser : GangPromise::Binds::kAll;
    promise.said_at = now_;
    const Instant open = last.overdue_since + kLittle + board_.mean_wall() * kLateTasks;
    if (promise.unbound != Unbound::kNot || now_ >= open) {
      promise.start = Instant::Never();
    } else if (promise.waits_for_own) {
      next_look_ = std::min(next_look_, std::min(open, promise.start + kLittle));
    } else {
      promise.said = promise.start;
      LookAgain(promise);
    }
    if (promise.waits_for_own || promise.start != Instant::Never()) return;
  }
  const bool was_unknown = again && before->unknown_since != Instant() && !before->waits_for_own;
  Wait(promise, was_unknown ? before->unknown_since : now_);
}

// Schedules the next look, because time alone may end that the promise binds all users.
void Gangs::LookAgain(const GangPromise& promise) {
  const Instant broken = promise.said + LittleOf(promise.said - promise.said_at);
  next_look_ = std::min(next_look_, now_ < broken ? broken : LateAt(promise));
}

// The promise has bound all users, and still does: to stop would delay the announced start. But
// `late` becomes true when the gang waits far too long, and its own user's overdue tasks end the
// promise shortly after the announced start.
bool Gangs::IsKept(GangPromise& promise, const GangPromise& before,
                   const NodeAhead::LastEnds& last) {
  if (promise.start == Instant::Never() || promise.late || before.said == Instant::Never()) {
    return false;
  }
  const Duration said = before.said - before.said_at;
  if (promise.start - now_ > said + kLittle) return false;
  if (last.overdue_since <= now_ && now_ >= before.said + LittleOf(said)) {
    if (last.over_time) broke_.insert(*board_.FindJob(promise.job)->user_name);
    return false;
  }
  promise.late = now_ >= LateAt(before);
  if (promise.late) return false;
  promise.said_at = before.said_at;
  promise.said = before.said;
  return true;
}

// Sets `waits_for_own`, by the tasks on the nodes that have no room for the gang yet. Its user's
// overdue tasks that leave it no room count as ending last, because nobody knows when they end.
NodeAhead::LastEnds Gangs::LookForOwn(GangPromise& promise, const Job& job) {
  const TaskClass& of_gang = job.ClassOf(promise.request);
  const bool known = promise.start != Instant::Never();
  NodeAhead::LastEnds last;
  for (const GangPlace& place : promise.places) {
    NodeAhead& ahead = AheadOf(place.node);
    const Offer& offer = ahead.node().offer;
    if (ProcsThatFit(offer, ahead.node().held, of_gang) >= place.procs) continue;
    const NodeAhead::LastEnds there = ahead.EndsUntil(promise.start, job.user_name);
    last.own = std::max(last.own, there.own);
    last.others = std::max(last.others, there.others);
    last.own_unknown |= there.own_unknown;
    if (ProcsThatFit(offer, there.overdue, of_gang) >= place.procs) continue;
    last.overdue_since = std::min(last.overdue_since, there.overdue_since);
    last.over_time |= there.over_time;
  }
  promise.waits_for_own =
      last.overdue_since != Instant::Never() || (known ? last.own > last.others : last.own_unknown);
  return last;
}

// A silent node of the gang's own user would keep other users' nodes idle for nothing.
bool Gangs::AwaitsAnswer(const Job& job, std::span<const GangPlace> places) {
  std::vector<NodeId> own;
  for (const GangPlace& place : places) {
    if (board_.nodes.at(place.node).offer.user == *job.user_name) own.push_back(place.node);
  }
  if (own.empty() || own.size() == places.size()) return false;
  bool awaits = now_ < job.user->silent_until;
  if (awaits) next_look_ = std::min(next_look_, job.user->silent_until);
  for (NodeId id : own) {
    Node& node = board_.nodes.at(id);
    awaits |= !node.answered;
    if (!node.answered && !std::exchange(node.asked, true)) unasked_.push_back(id);
  }
  return awaits;
}

// It is not known when it starts, since then.
void Gangs::Wait(GangPromise& promise, Instant since) {
  promise.binds = GangPromise::Binds::kNobody;
  promise.unknown_since = since;
  if (promise.waits_for_own || drains_) return;
  const Phase phase = PhaseAt(now_ - since);
  next_look_ = std::min(next_look_, since + phase.until);
  if (!phase.drains) return;
  promise.binds = GangPromise::Binds::kAll;
  drains_ = true;
}

// ---- Holds

void Gangs::SetHolds() {
  std::map<NodeId, std::vector<Hold>> holds;
  for (const GangPromise& promise : promises_) {
    if (promise.binds == GangPromise::Binds::kNobody) continue;
    const Job& job = *board_.FindJob(promise.job);
    const Instant start =
        promise.start == Instant::Never() || promise.late ? Instant() : promise.start;
    const std::string* user =
        promise.binds == GangPromise::Binds::kOwnUser ? job.user_name : nullptr;
    auto add = [&](const GangPlace& place, Instant from, const std::string* from_whom) {
      std::vector<Hold>& there = holds[place.node];
      auto hold = std::ranges::find(there, from_whom, &Hold::user);
      if (hold == there.end()) hold = there.insert(hold, Hold{from, {}, from_whom});
      hold->start = std::min(hold->start, from);
      hold->amounts.Add(PartAt(promise, place));
    };
    for (const GangPlace& place : promise.places) add(place, start, user);
    for (const GangPlace& place : promise.further) add(place, Instant(), nullptr);
  }
  for (NodeId id : std::exchange(held_, {})) {
    if (!holds.contains(id)) SetHold(id, {});
  }
  for (auto& [id, there] : holds) {
    held_.push_back(id);
    SetHold(id, std::move(there));
  }
}

// A hold that moves may leave more or less to others.
void Gangs::SetHold(NodeId id, std::vector<Hold> holds) {
  auto node = board_.nodes.find(id);
  if (node == board_.nodes.end() || node->second.holds == holds) return;
  node->second.holds = std::move(holds);
  if (node->second.present) board_.MarkRoomy(id, node->second);
}

void Gangs::ChargeUsers() {
  std::map<std::string, uint64_t> kept;
  for (const std::string& user : charged_) kept[user] = 0;
  charged_.clear();
  std::map<NodeId, Amounts> taken;
  for (const GangPromise& promise : promises_) {
    if (promise.binds == GangPromise::Binds::kNobody) continue;
    const Job& job = *board_.FindJob(promise.job);
    auto add = [&](const GangPlace& place) {
      const Node& node = board_.nodes.at(place.node);
      Amounts& there = taken.try_emplace(place.node, node.held).first->second;
      const Amounts idle = IdleOf(node.offer, there, PartAt(promise, place));
      there.Add(idle);
      kept[*job.user_name] += Used(node.offer, idle) / 1000 * node.offer.milli_cpus / 1000;
    };
    if (promise.binds == GangPromise::Binds::kAll) std::ranges::for_each(promise.places, add);
    std::ranges::for_each(promise.further, add);
  }
  for (const auto& [user, amount] : kept) {
    board_.SetKept(user, amount);
    if (amount > 0) charged_.push_back(user);
  }
}

void Gangs::DropHolds() {
  promises_.clear();
  claimed_ = 0;
  next_look_ = Instant::Never();
  rest_ = {};
  SetHolds();
  ChargeUsers();
}

}  // namespace spate::engine::place
