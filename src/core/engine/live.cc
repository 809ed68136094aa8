// How the board follows records, news and time.
#include "core/engine/live.h"

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "base/check.h"
#include "core/engine/engine_state.h"
#include "core/model/late_ends.h"

namespace spate::engine {
namespace {

place::JobFacts FactsOf(const JobState& job) {
  place::JobFacts facts{
      .runnable = job.Runnable(),
      .finished = job.finished(),
      .queued = job.counts().queued,
      .leased = job.counts().leased,
      .waiting = job.waiting(),
      .gangs_waiting = job.gangs_waiting(),
      .at_once = LeasesBeforeHold(job),
      .max_running = job.policy().max_running,
      .weight = job.policy().weight,
      .known = job.counts().leased > 0 || job.counts().succeeded > 0,
      .lossy = job.lossy(),
      .troubled = !job.troubles().empty() || !job.parted().empty(),
  };
  return facts;
}

// Until when the job's gangs avoid a node on which one has failed, as its other tries do.
Instant AvoidedUntil(const JobState& job, NodeId node, const Trouble& trouble, Instant now,
                     const Limits& limits) {
  // A replay may have the last failure by a node's clock, which may be ahead.
  if (trouble.failures == 0 || now < trouble.failed_at) return {};
  const Instant until = trouble.failed_at + limits.elsewhere_patience;
  return job.Suspects(node) ? std::max(until, trouble.trial_at) : until;
}

}  // namespace

class Live::Follower {
 public:
  Follower(Live& live, const Durable& durable)
      : live_(live), board_(live.board), durable_(durable) {}

  void operator()(const JobAccepted& record) {
    AddDeadlines(record.job, record.plan.requests);
    LookAtOne();
  }
  void operator()(const JobGrown& record) {
    AddDeadlines(record.job, record.new_requests);
    Changed(record.job);
  }
  void operator()(const TasksLinked&) {}
  void operator()(const JobSealed&) {}
  void operator()(const PolicyChanged& record) { Changed(record.job); }
  void operator()(const TasksWithdrawn& record) { Changed(record.job); }
  void operator()(const TasksCancelled&) {}
  void operator()(const TasksReopened& record) { Changed(record.job); }
  void operator()(const NeedsChanged& record) { AddDeadlines(record.job, record.new_requests); }
  void operator()(const JobHeld& record) { Changed(record.job); }
  void operator()(const JobReleased& record) { Changed(record.job); }
  void operator()(const JobSteered& record) {
    if (record.what == Steering::kStop) {
      live_.stops.insert({record.since, record.job});
      live_.last_stop = std::max(live_.last_stop, record.since);
    }
    const JobState& job = *durable_.FindJob(record.job);
    live_.SetStopped(job);
    for (const auto& [id, node] : durable_.nodes()) live_.SetStopped(node, id, job);
    Changed(record.job);
    board_.look_at_gangs = true;
  }
  void operator()(const JobParted& record) {
    live_.parted.insert(record.job);
    Changed(record.job);
  }
  void operator()(const TasksResized& record) {
    live_.last_resize = std::max(live_.last_resize, record.since);
    if (record.stage == ResizeStage::kQueued) return Changed(record.job);
    place::Node& node = board_.nodes[record.node];
    if (record.stage == ResizeStage::kOrdered || !node.present) return;
    board_.MarkRoomy(record.node, node);
    LookAtGangs();
  }
  void operator()(const Leased&) {}
  void operator()(const GangLeased& record) {
    const place::PartKey key{record.job, record.index};
    GangWatch& watch = live_.gangs_leased[key] = {.attempt = record.attempt};
    // A replay comes before the first step.
    watch.resumed = watch.sent = live_.step_at == Instant();
  }
  void operator()(const GangPolicyChanged& record) {
    live_.gangs.SetPolicy(record.policy);
    board_.look_at_gangs = true;
  }
  void operator()(const HalfLifeChanged& record) { board_.SetHalfLife(record.half_life); }
  void operator()(const UseCounted& record) {
    std::map<std::string, double> use;
    for (const auto& [name, user] : board_.users) use[name] = 0;
    for (const auto& [name, amount] : record.users) use[name] = static_cast<double>(amount);
    for (const auto& [name, amount] : use) board_.SetPast(name, amount, record.at);
  }
  void operator()(const ClockStepped&) {}
  void operator()(const PriorityChanged& record) {
    board_.SetPriority(*board_.FindJob(record.job), record.priority);
    Changed(record.job);
    board_.look_at_gangs = true;
  }
  void operator()(const GangReserved& record) {
    const place::PartKey head{record.job, record.index};
    live_.head_news.Recorded(live_.head_told != head, record.reason);
    live_.head_told = head;
  }
  void operator()(const Returned& record) {
    CheckStopped(record.node, record.job);
    if (live_.frozen.empty()) return;
    for (const TaskRange& range : record.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        live_.frozen.erase({{record.job, i, record.attempt}, record.node});
      }
    }
  }
  void operator()(const AttemptEnded& record) {
    CheckStopped(record.node, record.end.ref.job);
    if (!live_.frozen.empty()) live_.frozen.erase({record.end.ref, record.node});
    if (!live_.exceeded.empty()) {
      for (Resource what : {Resource::kCpu, Resource::kMemory, Resource::kProcesses}) {
        live_.exceeded.erase({record.end.ref, what});
      }
    }
    if (live_.gangs_leased.empty() || record.verdict == Verdict::kPart) return;
    auto at = live_.gangs_leased.find({record.end.ref.job, record.end.ref.index});
    if (at == live_.gangs_leased.end()) return;
    live_.SetRoomDeadline(at->second, at->first, Instant::Never());
    live_.gangs_leased.erase(at);
  }
  void operator()(const JobFinished& record) {
    live_.parted.erase(record.job);
    Changed(record.job);
  }
  void operator()(const JobCancelled& record) { Changed(record.job); }
  void operator()(const DependencyMet& record) { Changed(record.job); }
  void operator()(const UserChanged& record) {
    board_.SetRule(record.user, record.rule);
    board_.look_at_all = true;
  }
  void operator()(const NodeDrained& record) {
    board_.nodes[record.node].drained = true;
    LookAtGangs();
  }
  void operator()(const NodeUndrained& record) {
    place::Node& node = board_.nodes[record.node];
    node.drained = false;
    if (node.present) board_.MarkRoomy(record.node, node);
    board_.unpark = true;
  }
  void operator()(const NodeRemoved& record) {
    live_.SetAway(record.node, Instant::Never());
    board_.DropNode(record.node);
  }
  void operator()(const NodeSick& record) {
    LookAtGangs();
    place::Node& node = board_.nodes[record.node];
    if (record.job == JobId()) {
      node.sick = record.text;
      return;
    }
    node.set_aside[record.job] = durable_.FindJob(record.job)->user();
  }
  void operator()(const NodeCleared& record) {
    for (auto& [id, node] : board_.nodes) {
      if (record.node != NodeId() && record.node != id) continue;
      if (record.job == JobId()) {
        node.sick.clear();
        node.set_aside.clear();
      } else if (!durable_.NodeOf(id).IsBlamedBy(record.job)) {
        node.set_aside.erase(record.job);
      }
    }
    board_.look_at_all = true;
  }
  void operator()(const NodeBlamed& record) {
    place::Node& node = board_.nodes[record.node];
    const size_t forgotten = std::erase_if(node.set_aside, [&](const auto& each) {
      const JobState* job = durable_.FindJob(each.first);
      return job == nullptr || job->finished();
    });
    for (const auto& [by, user] : record.blames) node.set_aside[by] = user;
    board_.look_at_all |= forgotten > record.blames.size();
  }

 private:
  void AddDeadlines(JobId id, const std::vector<TaskClass>& added) {
    const JobState& job = *durable_.FindJob(id);
    live_.deadlines.Add(job, job.request_count() - static_cast<uint32_t>(added.size()));
  }
  // A task that has left the node may have been its last one that is stopped.
  void CheckStopped(NodeId id, JobId job) {
    auto& jobs = board_.nodes[id].jobs;
    const auto here = jobs.find(job);
    if (here == jobs.end() || !here->second.stopped) return;
    live_.SetStopped(durable_.NodeOf(id), id, *durable_.FindJob(job));
  }
  void Changed(JobId id) {
    board_.FindJob(id)->refresh = true;
    LookAtOne();
  }
  // Promises to waiting gangs may no longer hold.
  void LookAtGangs() { board_.look_at_gangs |= !board_.asking_for_gangs.empty(); }
  // A node that is alone is held ahead more or less, as jobs come and go.
  void LookAtOne() { board_.look_at_all |= board_.nodes.size() < 2; }

  Live& live_;
  place::Board& board_;
  const Durable& durable_;
};

void Live::Follow(const Durable& durable, const Record& record, const Changes& changes) {
  if (std::holds_alternative<JobAccepted>(record)) {
    const JobState& job = *durable.FindJob(changes.jobs.front());
    board.AddJob(job.id(), job.user(), job.priority(), job.requests());
  }
  for (const Changes::Use& use : changes.uses) {
    place::Job& job = *board.FindJob(use.job);
    place::Node& node = board.nodes[use.node];
    if (use.resized) {
      use.leased ? board.AddUse(job, node, use.request, use.tasks)
                 : board.DropUse(job, node, use.request, use.tasks);
    } else if (use.procs > 0) {
      const place::PartKey key{use.job, use.index};
      if (use.leased) {
        board.AddPart(job, node, key, use.request, use.procs, step_at);
        board.GiveGangs(job, use.tasks);
      } else {
        board.DropPart(job, use.node, node, key);
        board.ReturnGangs(job, use.tasks);
      }
    } else if (use.leased) {
      board.LeaseTasks(job, node, use.request, use.tasks, use.lossy);
    } else {
      board.DropOver(node, {use.job, use.index});
      board.ReturnTasks(job, use.node, node, use.request, use.tasks, use.lossy);
    }
  }
  for (JobId id : changes.jobs) Touch(*durable.FindJob(id));
  if (!parted.empty()) TouchParted(durable, changes);
  for (const auto& [id, request] : changes.stirred.all()) {
    Stir(*durable.FindJob(id), *board.FindJob(id), request);
  }
  const auto& more = changes.stirred.risen();
  if (board.crowded > 0) risen.insert(risen.end(), more.begin(), more.end());
  std::visit(Follower(*this, durable), record);
  if (feed) feed->Follow(record, changes);
}

// Jobs that are kept away from one that has come to a node, or has left it.
void Live::TouchParted(const Durable& durable, const Changes& changes) {
  for (const Changes::Use& use : changes.uses) {
    if (!parted.contains(use.job)) continue;
    const place::Node& node = board.nodes[use.node];
    const auto here = node.jobs.find(use.job);
    const uint32_t tasks = here == node.jobs.end() ? 0 : here->second.leased;
    const bool first_or_last = use.procs > 0 || tasks == (use.leased ? use.tasks : 0);
    if (!first_or_last) continue;
    for (const PartedFrom& from : durable.FindJob(use.job)->parted()) {
      const JobState* other = durable.FindJob(from.job);
      if (other != nullptr && !other->finished()) Touch(*other);
    }
  }
}

void Live::Touch(const JobState& job) {
  place::Job& known = *board.FindJob(job.id());
  board.AddClasses(known);
  if (std::exchange(known.unsettled, true)) return;
  unsettled_.emplace_back(&job, &known);
}

void Live::Stir(const JobState& job, place::Job& known, uint32_t request) {
  place::Ready& ready = known.IsGang(request) ? known.gangs : known.ready;
  ready.Set(request, job.QueuedOf(request, clock));
  deadlines.Stir(job, request);
}

void Live::SetFacts(const JobState& job, place::Job& known) {
  place::JobFacts facts = FactsOf(job);
  const bool waits = job.gangs_waiting() > 0;
  for (const auto& [node, trouble] : job.troubles()) {
    bool avoids = job.Avoids(node);
    if (waits && !avoids) {
      const Instant until = AvoidedUntil(job, node, trouble, step_at, board.limits);
      avoids = step_at < until;
      if (avoids) trials.insert({until, job.id()});
    }
    if (avoids) facts.avoids.push_back(node);
  }
  for (const PartedFrom& from : job.parted()) {
    for (const auto& [id, node] : board.nodes) {
      if (node.Has(from.job)) facts.avoids.push_back(id);
    }
  }
  std::ranges::sort(facts.avoids);
  board.SetFacts(known, std::move(facts));
}

void Live::Settle() {
  for (const auto& [job, known] : unsettled_) {
    SetFacts(*job, *known);
    board.Settle(*known);
  }
  unsettled_.clear();
}

void Live::Wake(const Durable& durable, Instant now) {
  clock = now;
  while (!trials.empty() && trials.begin()->first <= now) {
    const JobState* job = durable.FindJob(trials.begin()->second);
    trials.erase(trials.begin());
    if (job == nullptr || job->finished()) continue;
    place::Job& known = *board.FindJob(job->id());
    SetFacts(*job, known);
    board.Settle(known);
  }
  while (place::Job* known = board.NextDueJob(now)) {
    const JobState& job = *durable.FindJob(known->id);
    for (place::Ready* ready : {&known->ready, &known->gangs}) {
      while (ready->NextDue() <= now) Stir(job, *known, ready->NextDueClass());
    }
    board.Settle(*known);
  }
}

void Live::Reload(const JobState& job) {
  place::Job& known = board.AddJob(job.id(), job.user(), job.priority(), job.requests());
  if (!job.parted().empty()) parted.insert(job.id());
  SetFacts(job, known);
  board.Settle(known);
  deadlines.Add(job, 0);
}

void Live::SetOffer(const Durable& durable, NodeId id, const Offer& offer) {
  place::Node& node = board.nodes[id];
  const Leases& leases = durable.NodeOf(id).leases;
  // For a node that was there in this life, it is known since when it has its leases.
  const bool known = node.offer.slots > 0;
  std::map<place::PartKey, std::pair<Instant, Duration>> until;
  for (const auto& [key, part] : node.parts) until[key] = {part.until, part.left};
  while (!node.over.empty()) board.DropOver(node, node.over.begin()->first);
  for (const auto& [key, range] : leases) {
    place::Job& job = *board.FindJob(key.job);
    if (range.procs > 0) {
      board.DropPart(job, id, node, {key.job, key.first});
    } else {
      board.DropUse(job, node, range.request, range.left);
    }
  }
  node.offer = offer;
  JobId last;
  const bool is_late = std::ranges::find(offer.features, kEndsLate) != offer.features.end();
  node.ends_late_by = is_late ? kEndsLateBy : Duration();
  for (const auto& [key, range] : leases) {
    place::Job& job = *board.FindJob(key.job);
    if (range.procs > 0) {
      const place::PartKey part{key.job, key.first};
      board.AddPart(job, node, part, range.request, range.procs, step_at);
      if (known) std::tie(node.parts[part].until, node.parts[part].left) = until.at(part);
    } else {
      board.AddUse(job, node, range.request, range.left);
      if (!known) node.jobs[key.job].given_at = step_at;
    }
    Touch(*durable.FindJob(key.job));
    if (range.procs > 0) SetStopped(*durable.FindJob(key.job));
    if (std::exchange(last, key.job) == key.job) continue;
    SetStopped(durable.NodeOf(id), id, *durable.FindJob(key.job));
  }
}

void Live::SetStopped(const JobState& job) {
  for (auto at = gangs_leased.lower_bound({job.id(), 0}); at != gangs_leased.end(); ++at) {
    const place::PartKey& key = at->first;
    if (key.job != job.id()) break;
    const GangRun* gang = job.GangOf(key.index);
    if (gang == nullptr) continue;
    const bool stopped = job.StopOf(key.index) != nullptr;
    for (const GangLeased::Part& of_gang : gang->parts) {
      auto& parts = board.nodes[of_gang.node].parts;
      const auto part = parts.find(key);
      if (part == parts.end()) continue;
      Instant& until = part->second.until;
      Duration& left = part->second.left;
      if (stopped && until != Instant::Never()) {
        left = std::max(until - step_at, Duration{1});
        until = Instant::Never();
      } else if (!stopped && left.ns > 0) {
        until = step_at + left;
        left = {};
      }
    }
  }
}

void Live::SetStopped(const NodeRecord& record, NodeId id, const JobState& job) {
  auto& jobs = board.nodes[id].jobs;
  const auto here = jobs.find(job.id());
  if (here == jobs.end()) return;
  here->second.stopped = false;
  if (job.stopped() == nullptr && job.stopped_tasks().empty()) return;
  auto lease = record.leases.lower_bound({job.id(), Attempt(), 0});
  for (; lease != record.leases.end() && lease->first.job == job.id(); ++lease) {
    const auto& [key, range] = *lease;
    for (TaskIndex i = key.first; range.procs == 0 && i < key.first + range.count; ++i) {
      const bool has_it =
          job.StateOf(i) == TaskState::kLeased && job.CurrentAttempt(i) == key.attempt;
      here->second.stopped |= has_it && job.StopOf(i) != nullptr;
    }
  }
}

void Live::SetOver(const JobState& job, NodeId node, TaskIndex index, uint32_t request) {
  board.SetOver(*board.FindJob(job.id()), node, board.nodes.at(node), index, request);
  Touch(job);
}

void Live::SetRoomDeadline(GangWatch& watch, const place::PartKey& key, Instant until) {
  if (watch.room_until != Instant::Never()) room_deadlines.erase({watch.room_until, key});
  watch.room_until = until;
  if (until != Instant::Never()) room_deadlines.insert({until, key});
}

void Live::SetAway(NodeId id, Instant lost_at) {
  place::Node& node = board.nodes[id];
  board.look_at_gangs |= node.present && !board.asking_for_gangs.empty();
  node.present = false;
  node.no_room.clear();  // it will say so again
  node.roomy = false;
  Instant& known = node.lost_at;
  silent.erase({known, id});
  known = lost_at;
  if (lost_at != Instant::Never()) silent.insert({lost_at, id});
}

}  // namespace spate::engine
