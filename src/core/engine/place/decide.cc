#include "core/engine/place/decide.h"

#include <algorithm>

namespace spate::engine::place {

const std::vector<Reservation>& Decider::Decide(Instant now, const Give& give,
                                                const YieldsTo& yields) {
  yielded_ = false;
  yields_ = yields;
  looked_groups_.clear();
  misfits_.clear();
  fit_.Begin(now);
  number_ = board_.rounds;
  round_.emplace(board_.turns, number_);
  bool contended = board_.Contended();
  // If all roomy nodes are kept, jobs that have looked at the others need not be asked.
  auto fresh_only = [this](const std::string& user) { return fit_.AllKept(user); };
  while (true) {
    // The last one that wants something may have more than its part.
    if (contended && !board_.Contended()) {
      contended = false;
      fit_.Anew();
      number_ = board_.rounds;
      round_.emplace(board_.turns, number_);
    }
    std::optional<Turn> turn = round_->Next(fresh_only);
    if (!turn) break;
    if (Yields(*board_.FindJob(turn->job))) break;
    TakeTurn(*turn, give);
  }
  EndPass();
  return fit_.reservations();
}

void Decider::EndPass() {
  fit_.End();
  for (const auto& [user, group] : looked_groups_) user->line.SetLooked(group);
  for (const auto& [name, group] : misfits_) board_.Park(*name, group);
}

void Decider::TakeTurn(const Turn& turn, const Give& give) {
  Job& job = *board_.FindJob(turn.job);
  if (!turn.fresh && fit_.AllKept(*job.user_name)) return round_->PassedGroup();
  fit_.SelectNodes(turn.fresh);
  looked_ = false;
  Job::Asking& asking = AskingOf(job);
  Served served = Served::kNothing;
  if (!asking.done) {
    do served = Serve(job, asking, give);
    while (served == Served::kAskAgain ||
           (served == Served::kTasks && IsAlone(job) && !Yields(job)));
  }
  if (turn.fresh && looked_) looked_groups_.emplace_back(job.user, turn.group);
  if (served == Served::kMisfit) misfits_.emplace_back(job.user_name, turn.group);
  ReportServed(job, served);
  asking.done = served != Served::kTasks;
}

bool Decider::Yields(const Job& job) { return yielded_ = yields_ && yields_(job); }

// The next turn is its own again.
bool Decider::IsAlone(const Job& job) const {
  return !board_.Contended() && job.place && job.user->contenders()->priority == job.priority;
}

void Decider::ReportServed(const Job& job, Served served) {
  if (served == Served::kTasks) {
    round_->Served(job.place ? &job.place->turn : nullptr, job.place ? job.place->group : 0);
  } else if (served == Served::kNothing) {
    round_->Passed();
  } else {
    round_->PassedGroup();
  }
}

Job::Asking& Decider::AskingOf(Job& job) {
  if (job.asking.round != number_) job.asking = {.round = number_};
  return job.asking;
}

namespace {

// The classes from the first one on that was not passed.
std::set<Ready::Entry>::const_iterator NextOf(const Job& job, const Job::Asking& asking) {
  const auto& order = job.ready.order();
  return asking.passed ? order.upper_bound(*asking.passed) : order.begin();
}

}  // namespace

// Gives tasks of the job to one node, or finds that there is nothing more to give.
Decider::Served Decider::Serve(Job& job, Job::Asking& asking, const Give& give) {
  auto next = NextOf(job, asking);
  if (next == job.ready.order().end()) return Served::kNothing;
  const uint32_t request = next->number;
  Bound bound = BoundOf(job, request);
  if (bound.tasks == 0) return Served::kNothing;
  looked_ = true;
  Seeker& seeker = fit_.SeekerOf(job, request, bound);
  Room room = fit_.Best(job, request, bound, seeker);
  if (room.tasks == 0) return PassOver(job, asking);
  uint32_t count = std::min(bound.tasks, PartOf(job, room.tasks));
  ++next;
  ClassTurn until = next == job.ready.order().end() ? kNoTurn : next->turn;
  Answer answer = give({job, request, fit_.IdOf(room.candidate), count, until});
  if (answer.tasks == 0) {
    if (!answer.waits) fit_.LeaveOut(seeker, room.candidate);
    return Served::kAskAgain;
  }
  fit_.Given(job, request, bound, seeker, room.candidate);
  return Served::kTasks;
}

// No node has room for the request at the job's head, nor for those behind it up to one that is
// left there.
Decider::Served Decider::PassOver(Job& job, Job::Asking& asking) {
  bool waits = false;
  // Classes between two checks that some node still takes more of the job.
  constexpr uint32_t kLooks = 64;
  uint32_t looks = 0;
  for (auto next = NextOf(job, asking); next != job.ready.order().end(); ++next) {
    if (fit_.NoneLeft(*job.user_name)) return Served::kNoNode;
    if (++looks % kLooks == 0 && !fit_.LeavesRoomFor(job)) return Served::kNothing;
    Bound bound = BoundOf(job, next->number);
    if (bound.tasks == 0) return Served::kNothing;
    Seeker& seeker = fit_.SeekerOf(job, next->number, bound);
    if (Room room = fit_.Best(job, next->number, bound, seeker); room.tasks > 0) {
      fit_.PutBack(seeker, room);
      return Served::kAskAgain;
    }
    asking.passed = *next;
    fit_.ReserveRoom(job, next->number, seeker);
    asking.fits |= seeker.fits;
    waits |= seeker.waits();
  }
  if (!asking.fits && fit_.looks_at_all() && !job.facts.particular()) return Served::kMisfit;
  return waits ? Served::kNothing : Served::kNoNode;
}

// The part of a node's room that one turn takes.
uint32_t Decider::PartOf(const Job& job, uint32_t room) const {
  if (!board_.Contended()) return room;
  // Beyond a few, smaller parts would only cost more turns.
  uint32_t beside = std::min(job.user->contenders()->jobs, 8u);
  auto users = static_cast<uint32_t>(board_.wanting.size());
  return std::max(1u, room / (2 * users * std::max(beside, 1u)));
}

Bound Decider::BoundOf(Job& job, uint32_t request) {
  const JobFacts& facts = job.facts;
  uint64_t most = facts.at_once;
  uint64_t mine = facts.max_running == 0 ? UINT32_MAX : facts.max_running;
  const User& user = *job.user;
  uint64_t all = user.rule.max_running == 0 ? UINT32_MAX : user.rule.max_running;
  const Group& group = *user.group;
  uint64_t members = group.rule.max_running == 0 ? UINT32_MAX : group.rule.max_running;
  Bound bound{facts.queued, board_.limits.lease_tasks};
  const uint64_t least = std::min({most, mine, all, members});
  if (least == UINT32_MAX) return bound;
  uint64_t fit = fit_.MostAtOnce(job, request);
  // If so few may be leased that slots would stay empty, nothing waits behind running tasks. A rule
  // that may hold the job (--halt) leaves no slot empty all the same.
  if (least <= fit) bound.lease_tasks = 0;
  if (most != UINT32_MAX) most = std::max(most, fit);
  auto left = [](uint64_t allowed, uint64_t taken) {
    return allowed > taken ? allowed - taken : 0;
  };
  uint64_t tasks =
      std::min({left(most, facts.leased), left(mine + job.over, facts.leased),
                left(all, user.leased), left(members, group.leased), uint64_t{bound.tasks}});
  bound.tasks = static_cast<uint32_t>(tasks);
  return bound;
}

}  // namespace spate::engine::place
