// Gangs next to single tasks with kFair: their turns, and the number of nodes left to gangs of a
// user who has less than others.
#include <algorithm>
#include <utility>

#include "core/engine/place/gangs.h"

namespace spate::engine::place {
namespace {

// Only with kFair: one in so many nodes is left to gangs beyond the next one of each class.
constexpr size_t kFurtherPart = 2;

// Millionths of processors, at least one of them.
uint64_t UsedBy(const TaskClass& of_gang) {
  const uint64_t used = uint64_t{of_gang.gang.procs} * of_gang.needs.milli_cpus * 1000;
  return std::max<uint64_t>(used, 1);
}

}  // namespace

bool Gangs::ComesBefore(const Job& of_singles) const {
  if (rest_.empty()) return false;
  const Entry& first = rest_.entries().front();
  const Job& job = *first.known;
  if (job.user == of_singles.user) return false;
  const bool same = job.user->group == of_singles.user->group;
  const double theirs =
      same ? board_.ShareOf(*of_singles.user) : board_.GroupShareOf(*of_singles.user);
  const double own = same ? board_.ShareOf(*job.user) : board_.GroupShareOf(*job.user);
  return own + board_.ShareOfMore(job, UsedBy(job.ClassOf(first.request))) < theirs;
}

// Compared with the other users who have leases, or single tasks that wait.
bool Gangs::IsOverShare(const User& user) const {
  double own = 0;
  double theirs = 0;
  for (const auto& [name, other] : board_.users) {
    if (&other == &user || (other.leased == 0 && other.wanting.empty())) continue;
    const bool same = other.group == user.group;
    own += same ? board_.ShareOf(user) : board_.GroupShareOf(user);
    theirs += same ? board_.ShareOf(other) : board_.GroupShareOf(other);
  }
  return policy_ == GangPolicy::kFair && own > 2 * theirs;
}

void Gangs::BeginAgain(Instant now) {
  Begin(now);
  for (const GangPromise& promise : promises_) {
    if (promise.claims()) Claim(promise);
  }
  CountFree();
}

bool Gangs::DecideNext(Instant now, const GiveGang& give) {
  BeginAgain(now);
  const bool before = std::exchange(started_, false);
  Walk(std::exchange(rest_, {}), Which::kNext, give);
  const bool any = started_;
  started_ |= before;
  return any;
}

void Gangs::DecideRest(Instant now, const GiveGang& give) {
  if (rest_.empty()) return;
  BeginAgain(now);
  Walk(std::exchange(rest_, {}), Which::kRest, give);
}

std::span<const GangPlace> Gangs::FurtherBefore(const GangPromise& promise) const {
  for (const GangPromise& before : *before_) {
    if (before.job == promise.job && before.request == promise.request) return before.further;
  }
  return {};
}

// So many gangs of the class, beside the next one, that its user would have no more than the first
// one whose single tasks wait. Else these would take what comes free before there is enough of it.
uint32_t Gangs::CountFurther(const Job& job, uint32_t request) const {
  if (policy_ != GangPolicy::kFair || board_.turns.empty()) return 0;
  const GroupTurn& group = *board_.turns.begin();
  const User& user = *job.user;
  const bool same = group.name == user.group_name;
  const double theirs = same ? group.of->turns.begin()->share : group.share;
  const double own = same ? board_.ShareOf(user) : board_.GroupShareOf(user);
  const double each = board_.ShareOfMore(job, UsedBy(job.ClassOf(request)));
  const double gangs = std::max(0.0, (theirs - own) / each - 1);
  const size_t nodes = promises_.back().places.size();
  size_t left = ahead_.size() / kFurtherPart;
  for (const GangPromise& promise : promises_) left -= std::min(left, promise.further.size());
  const uint32_t waiting = std::max(job.facts.gangs_waiting, 1u) - 1;
  return static_cast<uint32_t>(std::min({gangs, double(waiting), double(left / nodes)}));
}

NodeAhead::Claim Gangs::ClaimOf(const GangPromise& promise, const GangPlace& place) const {
  const TaskClass& of_gang = board_.FindJob(promise.job)->ClassOf(promise.request);
  const Instant from = promise.start == Instant::Never() ? now_ : promise.start;
  return {from, EndOf(promise.start, of_gang.needs.time),
          AmountsOfPart(board_.nodes.at(place.node).offer, of_gang, place.procs)};
}

}  // namespace spate::engine::place
