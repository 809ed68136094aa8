#include "core/engine/demand_feed.h"

#include <algorithm>
#include <set>
#include <utility>

namespace spate::engine {
namespace {

// A retry delay up to this is over before a node that is asked for now would come. What waits for
// a longer one counts once it is due.
constexpr Duration kShortDelay = Duration::Seconds(60);

// A moving average over about the last eight ends. One task that took very long, or no time at all,
// hardly changes it; when all do, it follows within some twenty ends.
Duration Average(Duration so_far, Duration wall) {
  wall = std::max(wall, Duration::Micros(1));
  if (so_far.ns == 0) return wall;
  int64_t bounded = std::clamp(wall.ns, so_far.ns / 4, std::min(so_far.ns, INT64_MAX / 4) * 4);
  return {std::max<int64_t>(so_far.ns + (bounded - so_far.ns) / 8, 1)};
}

}  // namespace

// ---- Allotment

void Allotment::SetWant(const ClassKey& key, uint32_t tasks) {
  auto at = wants_.find(key);
  uint32_t known = at == wants_.end() ? 0 : at->second;
  if (known == tasks) return;
  if (IsWhole(key)) before_ = before_ + tasks - known;
  if (tasks == 0) {
    if (at == edge_) ++edge_;
    wants_.erase(at);
  } else {
    wants_[key] = tasks;
  }
}

void Allotment::SetRoom(uint64_t room, Changed& changed) {
  room_ = room;
  if (edge_ != wants_.end()) changed.push_back(edge_->first);
  while (before_ > room) {
    --edge_;
    before_ -= edge_->second;
    changed.push_back(edge_->first);
  }
  while (edge_ != wants_.end() && before_ + edge_->second <= room) {
    changed.push_back(edge_->first);
    before_ += edge_->second;
    ++edge_;
  }
  if (edge_ != wants_.end()) changed.push_back(edge_->first);
}

uint32_t Allotment::PartOf(const ClassKey& key) const {
  auto at = wants_.find(key);
  if (at == wants_.end()) return 0;
  if (IsWhole(key)) return at->second;
  return at == Wants::const_iterator(edge_) ? static_cast<uint32_t>(room_ - before_) : 0;
}

// ---- What is told

DemandFeed::DemandFeed(const Durable& durable, const place::Board& board)
    : durable_(durable), board_(board) {
  for (const auto& [id, job] : durable_.jobs()) Touch(job);
  std::set<std::pair<JobId, TaskIndex>> gangs;
  for (const auto& [id, node] : durable_.nodes()) {
    for (const auto& [key, range] : node.leases) {
      if (range.procs > 0 && !gangs.insert({key.job, key.first}).second) continue;
      jobs_.at(key.job).classes.at(range.request).running += range.left;
    }
  }
}

DemandFeed::Job& DemandFeed::JobOf(const JobState& job) {
  Job& known = jobs_[job.id()];
  if (known.user == nullptr) known.user = &users_[job.user()];
  known.classes.resize(job.request_count());
  return known;
}

void DemandFeed::Touch(const JobState& job) {
  Job& known = JobOf(job);
  if (!std::exchange(known.touched, true)) touched_jobs_.push_back(job.id());
  TouchUser(job.user(), *known.user);
}

void DemandFeed::Touch(const JobState& job, uint32_t request) {
  if (std::exchange(JobOf(job).classes[request].touched, true)) return;
  touched_.push_back({job.id(), request});
}

void DemandFeed::TouchUser(const std::string& name, User& user) {
  if (std::exchange(user.touched, true)) return;
  touched_users_.push_back(name);
  auto known = board_.users.find(name);
  if (known == board_.users.end()) return;
  const std::string& group = *known->second.group_name;
  if (IsGroup(group) && known->second.group->rule.max_running > 0) touched_groups_.insert(group);
}

// The tasks that a member may start depend on those that the other members run.
void DemandFeed::TouchGroups() {
  for (const std::string& name : std::exchange(touched_groups_, {})) {
    auto group = board_.groups.find(name);
    if (group == board_.groups.end()) continue;
    for (const std::string& member : group->second.users) {
      if (auto user = users_.find(member); user != users_.end()) TouchUser(member, user->second);
    }
  }
  touched_groups_.clear();  // of the members just touched
}

void DemandFeed::Follow(const Record& record, const Changes& changes) {
  for (JobId id : changes.jobs) Touch(*durable_.FindJob(id));
  for (const Changes::Use& use : changes.uses) {
    const JobState& job = *durable_.FindJob(use.job);
    uint32_t& running = JobOf(job).classes[use.request].running;
    running = use.leased ? running + use.tasks : running - use.tasks;
    Touch(job, use.request);
  }
  for (const auto& [id, request] : changes.stirred.all()) Touch(*durable_.FindJob(id), request);
  if (const auto* ended = std::get_if<AttemptEnded>(&record)) Learn(*ended);
  if (const auto* changed = std::get_if<UserChanged>(&record)) {
    if (IsGroup(changed->user)) {
      touched_groups_.insert(changed->user);
    } else {
      User& user = users_[changed->user];
      TouchUser(changed->user, user);
      touched_groups_.insert(std::exchange(user.group, changed->rule.group));
      touched_groups_.insert(user.group);
    }
  }
}

void DemandFeed::Learn(const AttemptEnded& ended) {
  if (ended.end.cause != Cause::kSuccess) return;
  const JobState& job = *durable_.FindJob(ended.end.ref.job);
  const uint32_t request = job.RequestOf(ended.end.ref.index);
  Class& known = JobOf(job).classes[request];
  known.takes = Average(known.takes, ended.end.wall);
  Touch(job, request);  // not what its lease held, where its request has changed since
}

void DemandFeed::Unload(JobId id) {
  auto at = jobs_.find(id);
  if (at == jobs_.end()) return;
  const JobState& job = *durable_.FindJob(id);
  User& user = *at->second.user;
  for (uint32_t request = 0; request < at->second.classes.size(); ++request) {
    Class& known = at->second.classes[request];
    SetDue({id, request}, known, Instant::Never());
    // Also where the user's bound left nothing of what it wanted to be told.
    place::GroupKey kind = place::KindOf(job.request(request));
    if (auto wants = user.kinds.find(kind); wants != user.kinds.end()) {
      wants->second.SetWant({id, request}, 0);
      user.stirred.insert(kind);
    }
    if (known.told_ready == 0) continue;
    gone_.push_back({.key = {id, request}, .user = job.user(), .needs = job.request(request)});
  }
  TouchUser(job.user(), user);
  jobs_.erase(at);
}

// ---- What is taken

std::vector<ClassDemand> DemandFeed::Drain(Instant now) {
  while (!dues_.empty() && dues_.begin()->first <= now) {
    ClassKey key = dues_.begin()->second;
    const JobState& job = *durable_.FindJob(key.job);
    SetDue(key, JobOf(job).classes[key.request], Instant::Never());
    Touch(job, key.request);
  }
  for (JobId id : std::exchange(touched_jobs_, {})) LookAtJob(id);
  Allotment::Changed changed = std::exchange(touched_, {});
  for (const ClassKey& key : changed) LookAtClass(key, now);
  TouchGroups();
  for (const std::string& name : std::exchange(touched_users_, {})) LookAtUser(name, changed);
  std::ranges::sort(changed);
  changed.erase(std::ranges::unique(changed).begin(), changed.end());
  std::vector<ClassDemand> told = std::exchange(gone_, {});
  for (const ClassKey& key : changed) AppendChanged(key, told);
  std::ranges::sort(told, {}, &ClassDemand::key);
  return told;
}

// Rules that may hold the job (--halt, --once) leave no slot empty, however few tasks they let
// nodes hold ahead: until they hold it, they take nothing from its demand.
DemandFeed::Gate DemandFeed::GateOf(const JobState& job) const {
  Gate gate{.room = job.Runnable() ? UINT32_MAX : 0,
            .counts_delayed = job.policy().retry.delay <= kShortDelay};
  const uint32_t most = job.policy().max_running;
  if (most > 0) gate.room = std::min(gate.room, most - std::min(most, job.counts().leased));
  return gate;
}

void DemandFeed::LookAtJob(JobId id) {
  auto at = jobs_.find(id);
  if (at == jobs_.end()) return;
  at->second.touched = false;
  const JobState& job = *durable_.FindJob(id);
  Gate gate = GateOf(job);
  if (gate == std::exchange(at->second.gate, gate)) return;
  for (uint32_t request = 0; request < job.request_count(); ++request) Touch(job, request);
}

void DemandFeed::LookAtClass(const ClassKey& key, Instant now) {
  auto at = jobs_.find(key.job);
  if (at == jobs_.end()) return;
  const JobState& job = *durable_.FindJob(key.job);
  const Gate& gate = at->second.gate;
  Class& known = at->second.classes[key.request];
  known.touched = false;
  uint32_t ready = 0;
  Instant due = Instant::Never();
  if (gate.room > 0) {
    ready = job.WaitingOf(key.request);
    if (!gate.counts_delayed) {
      JobState::Delays delays = job.DelaysOf(key.request, now);
      ready -= delays.tasks;
      due = delays.next;
    }
  }
  SetDue(key, known, due);
  place::GroupKey kind = place::KindOf(job.request(key.request));
  User& user = *at->second.user;
  user.kinds[kind].SetWant(key, std::min(ready, gate.room));
  user.stirred.insert(kind);
  TouchUser(job.user(), user);
}

void DemandFeed::LookAtUser(const std::string& name, Allotment::Changed& changed) {
  User& user = users_.at(name);
  user.touched = false;
  uint64_t room = UINT64_MAX;
  if (auto known = board_.users.find(name); known != board_.users.end()) {
    auto bound = [&room](const UserRule& rule, uint32_t leased) {
      if (rule.max_running == 0) return;
      room = std::min<uint64_t>(room, rule.max_running - std::min(rule.max_running, leased));
    };
    bound(known->second.rule, known->second.leased);
    bound(known->second.group->rule, known->second.group->leased);
  }
  bool same = room == std::exchange(user.room, room);
  auto look = [&](std::map<place::GroupKey, Allotment>::iterator kind) {
    kind->second.SetRoom(room, changed);
    return kind->second.empty() ? user.kinds.erase(kind) : std::next(kind);
  };
  if (same) {
    for (place::GroupKey kind : user.stirred) look(user.kinds.find(kind));
  } else {
    for (auto kind = user.kinds.begin(); kind != user.kinds.end();) kind = look(kind);
  }
  user.stirred.clear();
}

void DemandFeed::SetDue(const ClassKey& key, Class& known, Instant due) {
  if (due == known.due) return;
  if (known.due != Instant::Never()) dues_.erase({known.due, key});
  if (due != Instant::Never()) dues_.insert({due, key});
  known.due = due;
}

void DemandFeed::AppendChanged(const ClassKey& key, std::vector<ClassDemand>& told) {
  auto at = jobs_.find(key.job);
  if (at == jobs_.end()) return;
  const JobState& job = *durable_.FindJob(key.job);
  Class& known = at->second.classes[key.request];
  auto kind = at->second.user->kinds.find(place::KindOf(job.request(key.request)));
  uint32_t ready = kind == at->second.user->kinds.end() ? 0 : kind->second.PartOf(key);
  // A gang wants nodes for all of its processes at once.
  const uint32_t procs = std::max(job.requests()[key.request].gang.procs, 1u);
  auto times = [procs](uint32_t tasks) {
    return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{tasks} * procs, UINT32_MAX));
  };
  ClassDemand demand{.key = key, .ready = times(ready)};
  if (ready > 0) {
    demand.running = times(known.running);
    demand.takes = known.takes;
  }
  if (demand.ready == known.told_ready && demand.running == known.told_running &&
      demand.takes == known.told_takes) {
    return;
  }
  known.told_ready = demand.ready;
  known.told_running = demand.running;
  known.told_takes = demand.takes;
  demand.user = job.user();
  demand.needs = job.request(key.request);
  demand.gang = job.requests()[key.request].gang;
  told.push_back(std::move(demand));
}

}  // namespace spate::engine
