#include "core/engine/place/turns.h"

#include <algorithm>

#include "base/check.h"

namespace spate::engine::place {

// ---- Line

void Line::Show(const Group& group, GroupKey key) {
  if (group.parked || group.jobs.empty()) return;
  fronts_.insert({*group.jobs.begin(), key});
  if (group.fresh) fresh_.insert({*group.jobs.begin(), key});
}

void Line::Hide(const Group& group, GroupKey key) {
  if (group.parked || group.jobs.empty()) return;
  fronts_.erase({*group.jobs.begin(), key});
  if (group.fresh) fresh_.erase({*group.jobs.begin(), key});
}

void Line::CountParked(int32_t priority, uint32_t more, uint32_t less) {
  uint32_t& count = parked_jobs_[priority];
  count = count + more - less;
  if (count == 0) parked_jobs_.erase(priority);
}

void Line::Insert(const JobTurn& turn, GroupKey key) {
  Group& group = groups_[key];
  ++group.of_priority[turn.priority];
  if (group.parked) CountParked(turn.priority, 1, 0);
  if (!group.jobs.empty() && *group.jobs.begin() < turn) {
    group.jobs.insert(turn);
    return;
  }
  Hide(group, key);
  group.jobs.insert(turn);
  Show(group, key);
}

void Line::Erase(const JobTurn& turn, GroupKey key) {
  auto at = groups_.find(key);
  CHECK(at != groups_.end());
  Group& group = at->second;
  if (--group.of_priority[turn.priority] == 0) group.of_priority.erase(turn.priority);
  if (group.parked) CountParked(turn.priority, 0, 1);
  if (*group.jobs.begin() < turn) {
    group.jobs.erase(turn);
    return;
  }
  Hide(group, key);
  group.jobs.erase(turn);
  Show(group, key);
  if (!group.jobs.empty()) return;
  parked_.erase(key);
  groups_.erase(at);
}

// Keeps the places in memory: this is what each lease and each end does.
void Line::Move(const JobTurn& from, const JobTurn& to, GroupKey key) {
  Group& group = groups_.at(key);
  const Front before{*group.jobs.begin(), key};
  auto job = group.jobs.extract(from);
  job.value() = to;
  group.jobs.insert(std::move(job));
  const Front after{*group.jobs.begin(), key};
  if (group.parked || before.turn == after.turn) return;
  for (std::set<Front>* fronts : {&fronts_, &fresh_}) {
    if (fronts == &fresh_ && !group.fresh) break;
    auto front = fronts->extract(before);
    front.value() = after;
    fronts->insert(std::move(front));
  }
}

const JobTurn* Line::From(GroupKey key, const JobTurn& turn) const {
  auto group = groups_.find(key);
  if (group == groups_.end()) return nullptr;
  auto job = group->second.jobs.lower_bound(turn);
  return job == group->second.jobs.end() ? nullptr : &*job;
}

const JobTurn* Line::After(GroupKey key, const JobTurn& turn) const {
  auto group = groups_.find(key);
  if (group == groups_.end()) return nullptr;
  auto job = group->second.jobs.upper_bound(turn);
  return job == group->second.jobs.end() ? nullptr : &*job;
}

void Line::SetLooked(GroupKey key) {
  auto at = groups_.find(key);
  if (at == groups_.end() || !at->second.fresh) return;
  Hide(at->second, key);
  at->second.fresh = false;
  Show(at->second, key);
}

void Line::Refresh(GroupKey key) {
  Group& group = groups_.at(key);
  Hide(group, key);
  group.fresh = true;
  Show(group, key);
}

void Line::Park(GroupKey key) {
  auto at = groups_.find(key);
  if (at == groups_.end() || at->second.parked) return;
  Hide(at->second, key);
  at->second.parked = true;
  parked_.insert(key);
  for (auto [priority, count] : at->second.of_priority) CountParked(priority, count, 0);
}

void Line::UnparkAll() {
  for (GroupKey key : parked_) {
    Group& group = groups_.at(key);
    group.parked = false;
    group.fresh = true;
    Show(group, key);
  }
  parked_.clear();
  parked_jobs_.clear();
}

// ---- Round

bool Round::Step(bool fresh_only) {
  Line::Walk& walk = line_->walk_;
  if (walk.round != number_) {
    walk.round = number_;
    walk.at.reset();
    walk.again.clear();
  }
  const std::set<Front>& fronts = fresh_only ? line_->fresh_ : line_->fronts_;
  auto next = walk.at ? fronts.upper_bound(*walk.at) : fronts.begin();
  Line::Group* group = nullptr;
  for (; next != fronts.end(); ++next) {
    group = &line_->groups_.at(next->group);
    if (group->touched != number_) break;
    walk.at = *next;
  }
  bool again = !walk.again.empty();
  if (again && next != fronts.end()) again = walk.again.front().front < *next;
  if (again) {
    std::pop_heap(walk.again.begin(), walk.again.end());
    now_ = walk.again.back();
    walk.again.pop_back();
    return true;
  }
  if (next == fronts.end()) return false;
  walk.at = *next;
  group->touched = number_;
  now_ = {*next, false};
  return true;
}

std::optional<Turn> Round::Next(const std::function<bool(const std::string&)>& fresh_only) {
  auto group = group_ ? turns_.lower_bound(*group_) : turns_.begin();
  for (; group != turns_.end(); ++group) {
    group_ = *group;
    if (auto turn = NextOf(*group->of, fresh_only)) return turn;
  }
  return std::nullopt;
}

std::optional<Turn> Round::NextOf(Members& members,
                                  const std::function<bool(const std::string&)>& fresh_only) {
  if (std::exchange(members.round, number_) != number_) members.at.reset();
  auto user = members.at ? members.turns.lower_bound(*members.at) : members.turns.begin();
  for (; user != members.turns.end(); ++user) {
    members.at = *user;
    line_ = user->of;
    bool fresh = fresh_only(*user->name);
    if (fresh && line_->fresh().empty()) continue;
    while (Step(fresh)) {
      auto group = line_->groups_.find(now_.front.group);
      if (group == line_->groups_.end() || group->second.passed == number_) continue;
      return Turn{now_.front.turn.job, group->first, line_, group->second.fresh};
    }
  }
  return std::nullopt;
}

void Round::Push(const Line::Again& next) {
  std::vector<Line::Again>& again = line_->walk_.again;
  again.push_back(next);
  std::push_heap(again.begin(), again.end());
}

void Round::GoOn(const JobTurn* next) {
  if (next != nullptr && !now_.alone) Push({{*next, now_.front.group}, false});
}

void Round::Served(const JobTurn* now, GroupKey group) {
  bool moved = now != nullptr && group != now_.front.group;
  if (moved || (now != nullptr && now_.alone)) Push({{*now, group}, true});
  GoOn(line_->From(now_.front.group, now_.front.turn));
}

void Round::Passed() { GoOn(line_->After(now_.front.group, now_.front.turn)); }

void Round::PassedGroup() {
  auto group = line_->groups_.find(now_.front.group);
  if (group != line_->groups_.end()) group->second.passed = number_;
}

}  // namespace spate::engine::place
