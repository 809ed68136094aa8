#include "doors/simulate/backfill/fair_line.h"

#include <algorithm>
#include <tuple>

namespace spate::engine::place {

void FairLine::TakeTurn(UserNumber user, const User& of) {
  if (auto first = of.line.First()) turns_.erase({of.used, first->turn.ticket, user});
}

void FairLine::GiveTurn(UserNumber user, const User& of) {
  if (auto first = of.line.First()) turns_.insert({of.used, first->turn.ticket, user});
}

void FairLine::DropIdle(UserNumber user) {
  auto found = users_.find(user);
  if (found->second.used == 0 && !found->second.line.First()) users_.erase(found);
}

void FairLine::Insert(UserNumber user, const WaitingGang& gang) {
  User& of = users_[user];
  TakeTurn(user, of);
  of.line.Insert(gang);
  GiveTurn(user, of);
}

void FairLine::Remove(UserNumber user, WaitingTurn turn) {
  User& of = users_.at(user);
  TakeTurn(user, of);
  of.line.Remove(turn);
  GiveTurn(user, of);
  DropIdle(user);
}

void FairLine::Use(UserNumber user, int64_t processors) {
  User& of = users_[user];
  TakeTurn(user, of);
  of.used += processors;
  GiveTurn(user, of);
  DropIdle(user);
}

std::optional<Ticket> FairLine::First() const {
  return turns_.empty() ? std::nullopt : std::optional(turns_.begin()->first);
}

// A heap of each user's first one that fits. Who starts changes the place of nobody but its user.
void FairLine::EachThatFits(const std::function<Gap()>& gap,
                            const std::function<void(const WaitingGang&)>& start) const {
  struct Candidate {
    int64_t used = 0;
    WaitingGang gang;
    UserNumber user = 0;
    bool operator>(const Candidate& other) const {
      return std::tie(used, gang.turn) > std::tie(other.used, other.gang.turn);
    }
  };
  std::vector<Candidate> heap;
  for (const Turn& turn : turns_) {
    auto gang = users_.at(turn.user).line.NextThatFits(gap(), std::nullopt);
    if (gang) heap.push_back({turn.used, *gang, turn.user});
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const Candidate next = heap.back();
    heap.pop_back();
    if (gap().Fits(next.gang.processors, next.gang.estimate)) start(next.gang);
    const User& user = users_.at(next.user);
    auto gang = user.line.NextThatFits(gap(), next.gang.turn);
    if (!gang) continue;
    heap.push_back({user.used, *gang, next.user});
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
}

}  // namespace spate::engine::place
