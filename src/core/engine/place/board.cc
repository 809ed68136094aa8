#include "core/engine/place/board.h"

#include <cmath>

#include "base/check.h"

namespace spate::engine::place {
namespace {

// A node keeps the speed of so many jobs without leases there.
constexpr size_t kIdleJobsHere = 16;

// Leases whose length nobody knows, and the shortest ones, are taken to go on for so long.
constexpr Duration kUnknownAhead = Duration::Seconds(1);
constexpr Duration kLeastAhead = Duration::Millis(50);
// Use that was long ago hardly counts. So do leases that go on for longer than this part of the
// half-life: else who has long tasks would get less than who has short ones.
constexpr int64_t kMostAhead = 8;
// So often at most so many users are counted up to date, whatever happens to them.
constexpr Duration kCountAgain = Duration::Millis(10);
constexpr size_t kUsersAtOnce = 32;
// Shares grow with time (Inflation) and are made small again before they are too large.
constexpr double kMostHalfLives = 400;

template <typename Counts, typename Key>
void ReceiveOne(Counts& counts, const Key& key) {
  auto at = counts.find(key);
  if (--at->second == 0) counts.erase(at);
}

}  // namespace

std::optional<User::Contenders> User::contenders() const {
  for (auto [priority, count] : wanting) {
    uint32_t parked = line.Parked(priority);
    if (count > parked) return Contenders{priority, count - parked};
  }
  return std::nullopt;
}

void Totals::Add(const Totals& more) {
  jobs += more.jobs;
  leased += more.leased;
  unended += more.unended;
  used += more.used;
  kept += more.kept;
}

void Totals::Subtract(const Totals& less) {
  jobs -= less.jobs;
  leased -= less.leased;
  unended -= less.unended;
  used -= less.used;
  kept -= less.kept;
}

const Amounts& Node::Rest(Amounts& room) const {
  room = held;
  for (const auto& [job, here] : jobs) room.Subtract(here.over);
  return room;
}

const Amounts& Node::Rest(const JobHere& here, Amounts& room) {
  room = here.held;
  room.Subtract(here.over);
  return room;
}

bool Node::Fails(const std::string& user) const {
  constexpr int kJobs = 3;
  if (set_aside.size() < kJobs) return false;
  return std::ranges::count(set_aside, user, [](const auto& each) { return each.second; }) >= kJobs;
}

bool Node::SlowsDown(const Job& job, uint32_t request) const {
  const BoundBy by = job.ClassOf(request).bound;
  if (by == BoundBy::kUnknown) return false;
  auto here = jobs.find(job.id);
  const uint32_t own = here == jobs.end() ? 0 : here->second.leased;
  return bound[static_cast<size_t>(by)] > own;
}

GroupKey Job::group() const {
  return facts.particular() ? ready.kinds() + id.value * 0x9e3779b97f4a7c15u : ready.kinds();
}

uint64_t ShareOf(const Node& node, const Needs& needs) {
  uint32_t fit = FitCount(node.offer, needs);
  return fit == 0 ? 0 : kWhole / fit;
}

uint32_t FitNow(const Node& node, const std::string& user, const Needs& needs, Instant now,
                bool even_sick) {
  if (!node.IsThere()) return 0;
  if (!even_sick && (!node.sick.empty() || node.Fails(user))) return 0;
  if (!TakesUser(node.offer, user) || !OutlivesTask(node.offer, needs, now)) return 0;
  return FitCount(node.offer, needs);
}

// ---- Jobs

Job* Board::FindJob(JobId id) {
  auto it = jobs.find(id);
  return it == jobs.end() ? nullptr : &it->second;
}
const Job* Board::FindJob(JobId id) const { return const_cast<Board*>(this)->FindJob(id); }

Job& Board::AddJob(JobId id, const std::string& user, int32_t priority,
                   const std::vector<TaskClass>& requests) {
  auto owner = UserOf(user);
  Job& job = jobs[id];
  job.id = id;
  job.user_name = &owner->first;
  job.user = &owner->second;
  job.priority = priority;
  job.requests = &requests;
  AddClasses(job);
  return job;
}

void Board::AddClasses(Job& job) {
  while (job.ready.class_count() < job.requests->size()) {
    const GroupKey kind = KindOf(job.NeedsOf(job.ready.class_count()));
    job.ready.AddClass(kind);
    job.gangs.AddClass(kind);
  }
}

void Board::DropJob(JobId id) {
  asking_for_gangs.erase(id);
  jobs.erase(id);
}

// ---- Users and groups

std::map<std::string, User>::iterator Board::UserOf(const std::string& name) {
  auto [user, is_new] = users.try_emplace(name);
  user->second.name = &user->first;
  if (is_new) Join(name, user->second, name);
  return user;
}

void Board::Join(const std::string& name, User& user, const std::string& to) {
  auto group = groups.try_emplace(to).first;
  user.group_name = &group->first;
  user.group = &group->second;
  Count(user);
  user.group->Add(user);
  user.group->past.Move(user.past, 1, half_life_);
  user.group->ahead += user.ahead;
  if (IsGroup(group->first)) user.group->users.insert(name);
}

// The user is in no line until it is settled in another group.
void Board::Leave(const std::string& name, User& user) {
  if (user.turn) user.group->members.turns.erase(*user.turn);
  user.turn.reset();
  Count(user);
  user.group->Subtract(user);
  user.group->past.Move(user.past, -1, half_life_);
  AddAhead(*user.group, -user.ahead);
  user.group->users.erase(name);
  SettleGroup(user);
  if (!IsGroup(*user.group_name)) groups.erase(groups.find(*user.group_name));
}

void Board::Add(User& user, const Totals& more) {
  if (more.used + more.kept > 0) Count(user);
  user.Totals::Add(more);
  user.group->Add(more);
  all.Add(more);
}

void Board::Subtract(User& user, const Totals& less) {
  if (less.used + less.kept > 0) Count(user);
  user.Totals::Subtract(less);
  user.group->Subtract(less);
  all.Subtract(less);
}

// ---- Use over time

void Board::Count(User& user) {
  Group& group = *user.group;
  if (half_life_.ns <= 0) {
    user.past.Set(0, clock_);
    return group.past.Set(0, clock_);
  }
  group.past.Count(clock_, static_cast<double>(group.used + group.kept), half_life_);
  if (clock_ <= user.past.at()) return;
  const auto rate = static_cast<double>(user.used + user.kept);
  user.past.Count(clock_, rate, half_life_);
  was_used_ |= rate > 0;
}

// How long a lease of the job goes on at most, by what its tasks take.
Duration Board::AheadOf(const Job& job) const {
  Duration takes = std::max(job.wall, job.gang_wall);
  if (takes.ns == 0) takes = job.requests->front().needs.time;
  if (takes.ns == 0) takes = wall_;
  const Duration each = takes.ns > 0 ? std::max(takes, kLeastAhead) : kUnknownAhead;
  return half_life_.ns > 0 ? std::min(each, half_life_ / kMostAhead) : each;
}

void Board::CountAhead(Job& job) {
  const double ahead = static_cast<double>(job.used) * AheadOf(job).seconds();
  const double more = ahead - std::exchange(job.ahead, ahead);
  AddAhead(*job.user, more);
  AddAhead(*job.user->group, more);
}

template <typename T>
void Board::AddAhead(T& of, double more) {
  of.ahead = of.used == 0 ? 0 : std::max(0.0, of.ahead + more);
}

double Board::Inflation(Instant at) const {
  return epoch_ == Instant() || at <= epoch_
             ? 1
             : std::exp2((at - epoch_).seconds() / half_life_.seconds());
}

void Board::SetClock(Instant now) {
  const bool first = clock_ == Instant();
  clock_ = now;
  if (half_life_.ns <= 0) return;
  if (first || (now - epoch_).seconds() > kMostHalfLives * half_life_.seconds()) {
    epoch_ = now;
    return CountAll();
  }
  if (now - counted_at_ < kCountAgain) return;
  counted_at_ = now;
  auto next = users.upper_bound(last_counted_);
  for (size_t i = 0; i < std::min(kUsersAtOnce, users.size()); ++i, ++next) {
    if (next == users.end()) next = users.begin();
    last_counted_ = next->first;
    if (next->second.used + next->second.kept == 0) continue;
    Count(next->second);
    SettleUser(next->first, next->second);
  }
}

void Board::CountAll() {
  for (auto& [name, user] : users) {
    Count(user);
    SettleUser(name, user);
  }
}

void Board::SetHalfLife(Duration half_life) {
  CountAll();
  half_life_ = half_life;
  epoch_ = clock_;
  CountAll();
}

void Board::SetPast(const std::string& name, double use, Instant at) {
  auto user = UserOf(name);
  PastUse& past = user->second.past;
  Group& group = *user->second.group;
  group.past.Move(past, -1, half_life_);
  past.Set(use, at);
  group.past.Move(past, 1, half_life_);
  SettleUser(user->first, user->second);
}

void Board::SetPriority(Job& job, int32_t priority) {
  User& user = *job.user;
  if (job.place) user.line.Erase(job.place->turn, job.place->group);
  job.place.reset();
  if (job.weight) ReceiveOne(user.wanting, job.priority);
  job.priority = priority;
  if (job.weight) ++user.wanting[job.priority];
}

// ---- Use

JobHere& Board::Here(Node& node, JobId job) {
  auto it = node.jobs.find(job);
  if (it != node.jobs.end()) return it->second;
  if (node.jobs.size() >= kIdleJobsHere) {
    std::erase_if(node.jobs, [](const auto& each) { return each.second.leased == 0; });
  }
  return node.jobs[job];
}

void Board::AddUse(Job& job, Node& node, uint32_t request, uint32_t tasks) {
  const Needs& needs = job.NeedsOf(request);
  JobHere& here = Here(node, job.id);
  // Shares are billionths of a node.
  here.whole += place::ShareOf(node, needs) * node.offer.milli_cpus / 1'000'000 * tasks;
  const uint64_t running = here.whole / (1 + AheadOf(node, here));
  const uint64_t charge = std::max(running, here.charged) - here.charged;
  AddTasks(here.held, node.offer, needs, tasks);
  AddTasks(node.held, node.offer, needs, tasks);
  CountCrowded(node);
  here.planned = here.leased == 0       ? needs.time
                 : needs.time.ns == 0   ? Duration()
                 : here.planned.ns == 0 ? Duration()
                                        : std::max(here.planned, needs.time);
  here.leased += tasks;
  here.charged += charge;
  node.leased += tasks;
  node.bound[static_cast<size_t>(job.ClassOf(request).bound)] += tasks;
  job.used += charge;
  Add(*job.user, {.leased = tasks, .used = charge});
  CountAhead(job);
}

void Board::LeaseTasks(Job& job, Node& node, uint32_t request, uint32_t tasks, bool lossy) {
  node.lossy += lossy ? 1 : 0;
  AddUse(job, node, request, tasks);
  CountTurn(job);
}

void Board::ReturnTasks(Job& job, NodeId id, Node& node, uint32_t request, uint32_t tasks,
                        bool lossy) {
  node.lossy -= lossy ? 1 : 0;
  DropUse(job, node, request, tasks);
  look_at_gangs |= !asking_for_gangs.empty();
  if (node.present) MarkRoomy(id, node);
}

void Board::DropUse(Job& job, Node& node, uint32_t request, uint32_t tasks) {
  JobHere& here = node.jobs.at(job.id);
  User& user = *job.user;
  CHECK(here.leased >= tasks);
  CHECK(node.leased >= tasks);
  CHECK(user.leased >= tasks);
  here.whole = here.leased == tasks ? 0 : here.whole - here.whole / here.leased * tasks;
  const uint64_t charge = here.charged - std::min(here.charged, here.whole);
  const Needs& needs = job.NeedsOf(request);
  SubtractTasks(here.held, node.offer, needs, tasks);
  SubtractTasks(node.held, node.offer, needs, tasks);
  CountCrowded(node);
  here.leased -= tasks;
  here.charged -= charge;
  node.leased -= tasks;
  node.bound[static_cast<size_t>(job.ClassOf(request).bound)] -= tasks;
  job.used -= charge;
  Subtract(user, {.leased = tasks, .used = charge});
  CountAhead(job);
}

void Board::SetOver(Job& job, NodeId id, Node& node, TaskIndex index, uint32_t request) {
  if (!node.over.emplace(PartKey{job.id, index}, request).second) return;
  AddTasks(node.jobs.at(job.id).over, node.offer, job.NeedsOf(request), 1);
  ++job.over;
  CountCrowded(node);
  if (node.present) MarkRoomy(id, node);
}

void Board::DropOver(Node& node, const PartKey& key) {
  auto at = node.over.find(key);
  if (at == node.over.end()) return;
  Job& job = *FindJob(key.job);
  SubtractTasks(node.jobs.at(key.job).over, node.offer, job.NeedsOf(at->second), 1);
  --job.over;
  node.over.erase(at);
  CountCrowded(node);
}

void Board::AddPart(Job& job, Node& node, const PartKey& key, uint32_t request, uint32_t procs,
                    Instant now) {
  const TaskClass& of_gang = job.ClassOf(request);
  PartHere part{.held = AmountsOfPart(node.offer, of_gang, procs)};
  const Duration time = of_gang.needs.time.ns > 0 ? of_gang.needs.time : job.gang_wall;
  if (time.ns > 0) part.until = now + time;
  part.charge = Used(node.offer, part.held) / 1000 * node.offer.milli_cpus / 1000;
  node.held.Add(part.held);
  CountCrowded(node);
  ++node.leased;
  part.bound = of_gang.bound;
  ++node.bound[static_cast<size_t>(part.bound)];
  job.used += part.charge;
  Add(*job.user, {.used = part.charge});
  CountAhead(job);
  node.parts[key] = std::move(part);
}

void Board::DropPart(Job& job, NodeId id, Node& node, const PartKey& key) {
  auto at = node.parts.find(key);
  CHECK(at != node.parts.end());
  const PartHere& part = at->second;
  node.held.Subtract(part.held);
  CountCrowded(node);
  --node.leased;
  --node.bound[static_cast<size_t>(part.bound)];
  job.used -= part.charge;
  Subtract(*job.user, {.used = part.charge});
  CountAhead(job);
  node.parts.erase(at);
  look_at_gangs = true;
  if (node.present) MarkRoomy(id, node);
}

void Board::Forget(Node& node) {
  CHECK(node.leased == 0);
  node.offer = {};
  node.jobs.clear();
}

namespace {

void Average(Duration& wall, Duration took) {
  wall = wall.ns == 0 ? took : Duration{wall.ns + (took.ns - wall.ns) / 8};
}

}  // namespace

void Board::Learn(Node& node, JobId job, Duration took, bool success) {
  JobHere& here = node.jobs[job];
  here.fails = !success && (here.fails || here.wall.ns == 0);
  Average(here.wall, took);
  Average(wall_, took);
  Job* known = FindJob(job);
  if (known == nullptr) return;
  Average(known->wall, took);
  CountAhead(*known);
}

void Board::LearnGang(JobId job, Duration took) {
  Average(wall_, took);
  Job& known = *FindJob(job);
  Average(known.gang_wall, took);
  CountAhead(known);
}

void Board::CountTurn(Job& job) {
  constexpr uint64_t kTurn = 1'000'000;
  User& user = *job.user;
  Group& group = *user.group;
  const uint32_t weight = IsGroup(*user.group_name) ? group.rule.weight : user.rule.weight;
  last_given = std::max(last_given, group.given);
  group.given = last_given + kTurn / std::max(weight, 1u);
  group.last_given = std::max(group.last_given, user.given);
  user.given = group.last_given + kTurn / std::max(user.rule.weight, 1u);
  user.last_given = std::max(user.last_given, job.given);
  job.given = user.last_given + kTurn / std::max(job.facts.weight, 1u);
}

void Board::CountCrowded(Node& node) {
  crowded -= node.crowded ? 1 : 0;
  Amounts room;
  node.crowded = Crowded(node.offer, node.Taken(room));
  crowded += node.crowded ? 1 : 0;
}

void Board::MarkRoomy(NodeId id, Node& node) {
  if (std::exchange(node.roomy, true)) return;
  roomy.push_back(id);
}

void Board::DropNode(NodeId id) {
  auto node = nodes.find(id);
  if (node == nodes.end()) return;
  CHECK(node->second.leased == 0);
  nodes.erase(node);
}

// ---- Lines

void Board::SetRule(const std::string& name, const UserRule& rule) {
  if (IsGroup(name)) {
    Group& group = groups[name];
    group.rule = rule;
    // Settled by any member that asks; without one it is in no line.
    if (!group.members.turns.empty()) SettleGroup(users.at(*group.members.turns.begin()->name));
    return;
  }
  auto user = UserOf(name);
  user->second.rule = rule;
  const std::string& group = rule.group.empty() ? name : rule.group;
  if (group != *user->second.group_name) {
    Leave(name, user->second);
    Join(name, user->second, group);
  }
  SettleUser(user->first, user->second);
}

void Board::SetFacts(Job& job, JobFacts facts) {
  User& user = *job.user;
  uint32_t unended = facts.queued + facts.leased;
  Add(user, {.jobs = facts.finished ? 0u : 1u, .unended = unended});
  Subtract(user, {.jobs = std::exchange(job.counted, !facts.finished) ? 1u : 0u,
                  .unended = std::exchange(job.unended, unended)});
  job.facts = std::move(facts);
}

void Board::Refresh(Job& job) { job.refresh = true; }

void Board::Settle(Job& job) {
  job.unsettled = false;
  CountWanting(job);
  MoveInLine(job);
  SetDue(job);
  if (job.asks_for_gang()) {
    look_at_gangs = true;
    asking_for_gangs.emplace(job.id, &job);
  } else {
    asking_for_gangs.erase(job.id);
  }
  if (std::exchange(job.refresh, false) && job.place) job.user->line.Refresh(job.place->group);
  SettleUser(*job.user_name, *job.user);
}

void Board::CountWanting(Job& job) {
  User& user = *job.user;
  std::optional<uint32_t> weight;
  if (job.wants()) weight = std::max(job.facts.weight, 1u);
  std::optional<uint32_t> before = std::exchange(job.weight, weight);
  if (before == weight) return;
  if (before) {
    ReceiveOne(user.wanting, job.priority);
    ReceiveOne(user.weights, *before);
  }
  if (weight) {
    ++user.wanting[job.priority];
    ++user.weights[*weight];
  }
}

void Board::MoveInLine(Job& job) {
  std::optional<Job::TurnKey> place;
  if (job.asks()) {
    uint64_t share = job.used * kJobWeight / std::max(job.facts.weight, 1u);
    place = {{job.priority, share, job.given, job.id}, job.group()};
  }
  if (place == job.place) return;
  Line& line = job.user->line;
  if (place && job.place && place->group == job.place->group) {
    line.Move(job.place->turn, place->turn, place->group);
  } else {
    if (job.place) line.Erase(job.place->turn, job.place->group);
    if (place) line.Insert(place->turn, place->group);
  }
  job.place = place;
}

void Board::SetDue(Job& job) {
  Instant due = job.weight ? job.ready.NextDue() : Instant::Never();
  if (job.facts.runnable) due = std::min(due, job.gangs.NextDue());
  if (due == job.due) return;
  if (job.due != Instant::Never()) dues.erase({job.due, job.id});
  if (due != Instant::Never()) dues.insert({due, job.id});
  job.due = due;
}

Job* Board::NextDueJob(Instant now) {
  return NextDue() <= now ? FindJob(dues.begin()->second) : nullptr;
}

// Nodes kept for a user count by the time they are kept: else their user would lose them again.
template <typename T>
double Board::AmountOf(const T& of) const {
  if (half_life_.ns <= 0) return static_cast<double>(of.used + of.kept);
  return (of.past.amount() + of.ahead) * Inflation(of.past.at());
}

double Board::ShareOf(const User& user) const {
  // Nobody takes from others by what he says of his jobs; he may only stand back.
  bool wants = user.contenders().has_value();
  uint64_t nice = wants ? std::min(user.weights.rbegin()->first, kJobWeight) : kJobWeight;
  return AmountOf(user) * kJobWeight / (std::max(user.rule.weight, 1u) * nice);
}

double Board::ShareOfMore(const Job& job, uint64_t used) const {
  const User& user = *job.user;
  const UserRule& rule = IsGroup(*user.group_name) ? user.group->rule : user.rule;
  const double share = static_cast<double>(used) / std::max(rule.weight, 1u);
  if (half_life_.ns <= 0) return share;
  return share * AheadOf(job).seconds() * Inflation(clock_);
}

double Board::GroupShareOf(const User& user) const {
  if (!IsGroup(*user.group_name)) return ShareOf(user);
  return AmountOf(*user.group) / std::max(user.group->rule.weight, 1u);
}

void Board::SetKept(const std::string& name, uint64_t kept) {
  auto user = users.find(name);
  CHECK(user != users.end());
  if (user->second.kept == kept) return;
  Subtract(user->second, {.kept = user->second.kept});
  Add(user->second, {.kept = kept});
  SettleUser(user->first, user->second);
}

void Board::SettleUser(const std::string& name, User& user) {
  bool wants = user.contenders().has_value();
  if (wants) {
    wanting.insert(&user);
  } else {
    wanting.erase(&user);
  }
  const double share = ShareOf(user);
  bool asks = !user.line.empty() && !user.IsBoundBy(user.rule);
  bool same = user.turn && user.turn->share == share && user.turn->given == user.given;
  if (asks != user.turn.has_value() || (asks && !same)) {
    auto& members = user.group->members.turns;
    if (user.turn) members.erase(*user.turn);
    user.turn.reset();
    if (asks) members.insert(user.turn.emplace(UserTurn{share, user.given, &name, &user.line}));
  }
  SettleGroup(user);
}

void Board::SettleGroup(const User& user) {
  Group& group = *user.group;
  const double share = GroupShareOf(user);
  bool asks = !group.members.turns.empty() && !group.IsBound();
  bool same = group.turn && group.turn->share == share && group.turn->given == group.given;
  if (asks == group.turn.has_value() && (!asks || same)) return;
  if (group.turn) turns.erase(*group.turn);
  group.turn.reset();
  if (!asks) return;
  turns.insert(group.turn.emplace(GroupTurn{share, group.given, user.group_name, &group.members}));
}

void Board::Park(const std::string& name, GroupKey group) {
  User& user = users.at(name);
  user.line.Park(group);
  SettleUser(name, user);
}

void Board::UnparkAll() {
  for (auto& [name, user] : users) {
    user.line.UnparkAll();
    SettleUser(name, user);
  }
}

// ---- Questions

bool Board::Contended() const {
  if (wanting.size() != 1) return wanting.size() > 1;
  return (*wanting.begin())->contenders()->jobs > 1;
}

uint32_t Board::AheadOf(const Node& node, const JobHere& here) const {
  uint32_t least = HoldsLongAhead() ? 1 : 0;
  if (here.wall.ns <= 0) return least;
  int64_t tasks = limits.lease_ahead.ns / std::max<int64_t>(here.wall.ns, 100'000);
  uint32_t most = limits.lease_tasks / std::max(node.offer.slots, 1u);
  return std::max(least, static_cast<uint32_t>(std::min<int64_t>(tasks, most)));
}

}  // namespace spate::engine::place
