// Jobs and tasks that are stopped, continued or signalled. A stop is a record of tasks, not of
// attempts: nodes freeze what they run of them and give back what has not started, and nothing of
// them is given out until they are continued. Whether processes stand still is news of their nodes,
// which a returning node reports again; the record decides.
#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

// Tasks of the job that the node has and that `wanted` takes.
std::vector<TaskRange> LeasedHere(const NodeRecord& node, const JobState& job,
                                  const std::function<bool(TaskIndex)>& wanted) {
  std::vector<TaskRange> tasks;
  auto lease = node.leases.lower_bound({job.id(), Attempt(), 0});
  for (; lease != node.leases.end() && lease->first.job == job.id(); ++lease) {
    const auto& [key, range] = *lease;
    for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
      if (job.StateOf(i) != TaskState::kLeased || job.CurrentAttempt(i) != key.attempt) continue;
      if (wanted(i)) AppendIndex(tasks, i);
    }
  }
  return Normalized(std::move(tasks));
}

// Sends the order to each node that is there and has some of the tasks.
void Order(StepContext& step, const JobState& job, bool frozen, Instant stop,
           const std::function<bool(TaskIndex)>& wanted) {
  for (const auto& [id, node] : step.durable.nodes()) {
    if (!step.board.nodes.at(id).present) continue;
    auto tasks = LeasedHere(node, job, wanted);
    if (tasks.empty()) continue;
    step.out.sends.push_back(SendFreeze{id, job.id(), std::move(tasks), frozen, stop});
  }
}

// Calls fn(index) for each leased gang of the job that `wanted` takes.
void EachGang(const StepContext& step, const JobState& job,
              const std::function<bool(TaskIndex)>& wanted,
              const std::function<void(TaskIndex)>& fn) {
  const auto& gangs = step.live.gangs_leased;
  std::vector<TaskIndex> found;
  for (auto at = gangs.lower_bound({job.id(), 0}); at != gangs.end(); ++at) {
    if (at->first.job != job.id()) break;
    if (wanted(at->first.index)) found.push_back(at->first.index);
  }
  for (TaskIndex index : found) fn(index);
}

void Stop(StepContext& step, const JobState& job, std::vector<TaskRange> tasks,
          const std::string& by, std::optional<Excess> excess = std::nullopt) {
  auto fresh = Select(
      job, tasks.empty() ? std::vector<TaskRange>{{0, job.task_count()}} : tasks, [&](TaskIndex i) {
        const TaskState state = job.StateOf(i);
        const bool goes_on = state == TaskState::kQueued || state == TaskState::kLeased;
        return goes_on && !job.Cancelled(i) && job.StopOf(i) == nullptr;
      });
  if (tasks.empty() ? job.stopped() != nullptr : fresh.empty()) return;
  fresh = Normalized(std::move(fresh));
  // A node's late word about an earlier stop must not be taken for one about this.
  const Instant since = std::max(step.now, step.live.last_stop + Duration{1});
  step.Record(JobSteered{.job = job.id(),
                         .what = Steering::kStop,
                         .tasks = tasks.empty() ? std::vector<TaskRange>() : fresh,
                         .by = by,
                         .since = since,
                         .at = step.wall(),
                         .excess = std::move(excess)});
  // A stop of the whole job takes the place of those of its single tasks.
  auto meant = [&](TaskIndex i) {
    const StopFact* stop = job.StopOf(i);
    return stop != nullptr && stop->since == since && !job.Cancelled(i);
  };
  // Nothing of a gang has run before all of its nodes have room.
  EachGang(step, job, meant, [&](TaskIndex i) {
    if (!MayHaveStarted(step, {job.id(), i, job.CurrentAttempt(i)})) StopParts(step, job, i);
  });
  Order(step, job, /*frozen=*/true, since, meant);
}

void Continue(StepContext& step, const JobState& job, std::vector<TaskRange> tasks,
              const std::string& by) {
  std::vector<TaskRange> stopped;
  if (tasks.empty()) {
    if (job.stopped() == nullptr && job.stopped_tasks().empty()) return;
    stopped = {{0, job.task_count()}};
  } else {
    tasks = Normalized(Select(job, tasks, [&](TaskIndex i) { return job.StoppedAlone(i); }));
    if (tasks.empty()) return;
    stopped = tasks;
  }
  auto meant = [&](TaskIndex i) { return SortedContains(stopped, i); };
  const auto leased = Select(job, stopped, [&](TaskIndex i) {
    return job.StateOf(i) == TaskState::kLeased && job.StopOf(i) != nullptr;
  });
  step.Record(JobSteered{.job = job.id(),
                         .what = Steering::kContinue,
                         .tasks = std::move(tasks),
                         .by = by,
                         .since = step.now,
                         .at = step.wall()});
  auto goes_on = [&](TaskIndex i) { return job.StopOf(i) == nullptr && SortedContains(leased, i); };
  std::erase_if(step.live.frozen, [&](const auto& each) {
    return each.first.job == job.id() && meant(each.first.index) &&
           job.StopOf(each.first.index) == nullptr;
  });
  Order(step, job, /*frozen=*/false, {}, goes_on);
  EachGang(step, job, goes_on, [&](TaskIndex i) { ContinueGang(step, job, i); });
}

}  // namespace

void On(StepContext& step, const SteerTasks& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || job->finished() || job->cancelled()) return;
  switch (event.what) {
    case Steering::kStop:
      return Stop(step, *job, event.tasks, event.by);
    case Steering::kContinue:
      return Continue(step, *job, event.tasks, event.by);
    case Steering::kSignal:
      step.Record(
          JobSteered{.job = event.job,
                     .what = Steering::kSignal,
                     .tasks = Normalized(Select(*job, event.tasks, [](TaskIndex) { return true; })),
                     .signal = event.signal,
                     .by = event.by,
                     .since = step.now,
                     .at = step.wall()});
      return;
    case Steering::kKill:
    case Steering::kExceed:
      return;
  }
}

// The node says it again after a lost connection, and the stop may be recorded by then: the order
// to freeze goes out anew (FreezeAgain).
void On(StepContext& step, const ExcessTold& event) {
  const JobState* job = step.durable.FindJob(event.ref.job);
  if (job == nullptr || !step.board.nodes.contains(event.node)) return;
  if (!IsCurrent(step.durable.NodeOf(event.node), *job, event.ref)) return;  // late news
  std::vector<TaskRange> task = {{event.ref.index, 1}};
  if (event.excess.done == OnExcess::kStop) {
    return Stop(step, *job, std::move(task), "", event.excess);
  }
  // The first part of a gang that says so counts.
  if (!step.live.exceeded.insert({event.ref, event.excess.what}).second) return;
  step.Record(JobSteered{.job = event.ref.job,
                         .what = Steering::kExceed,
                         .tasks = std::move(task),
                         .since = step.now,
                         .at = step.wall(),
                         .excess = event.excess});
}

void On(StepContext& step, const FreezeTold& event) {
  const JobState* job = step.durable.FindJob(event.ref.job);
  if (job == nullptr || !step.board.nodes.contains(event.node)) return;
  if (!IsCurrent(step.durable.NodeOf(event.node), *job, event.ref)) return;  // late news
  const StopFact* stop = job->StopOf(event.ref.index);
  if (event.frozen && stop != nullptr && stop->since == event.stop) {
    step.live.frozen.insert({event.ref, event.node});
  } else {
    step.live.frozen.erase({event.ref, event.node});
  }
}

void FreezeAgain(StepContext& step, NodeId id, const std::vector<HeldTasks>& frozen) {
  std::erase_if(step.live.frozen, [id](const auto& each) { return each.second == id; });
  const NodeRecord& node = step.durable.NodeOf(id);
  JobId last;
  std::vector<SendFreeze> sends;
  for (const auto& [key, range] : node.leases) {
    if (std::exchange(last, key.job) == key.job) continue;
    const JobState& job = *step.durable.FindJob(key.job);
    if (job.stopped() == nullptr && job.stopped_tasks().empty()) continue;
    auto tasks = LeasedHere(node, job, [&](TaskIndex i) { return job.StopOf(i) != nullptr; });
    std::map<Instant, std::vector<TaskRange>> of_stops;
    for (const TaskRange& some : tasks) {
      for (TaskIndex i = some.first; i < some.first + some.count; ++i) {
        AppendIndex(of_stops[job.StopOf(i)->since], i);
      }
    }
    for (auto& [stop, here] : of_stops) sends.push_back({id, key.job, std::move(here), true, stop});
  }
  // Attempts that it froze for a stop that is over go on.
  for (const HeldTasks& held : frozen) {
    const JobState* job = step.durable.FindJob(held.job);
    if (job == nullptr) continue;
    auto tasks = SelectHeld(node, *job, held.attempt, held.tasks);
    tasks = Select(*job, tasks, [&](TaskIndex i) { return job->StopOf(i) == nullptr; });
    if (!tasks.empty()) sends.push_back({id, held.job, std::move(tasks), false, {}});
  }
  for (SendFreeze& send : sends) step.out.sends.push_back(std::move(send));
}

void EndLongFrozen(StepContext& step) {
  const Duration most = step.board.limits.max_frozen;
  auto& stops = step.live.stops;
  while (!stops.empty() && stops.begin()->first + most <= step.now) {
    const JobState* job = step.durable.FindJob(stops.begin()->second);
    stops.erase(stops.begin());
    if (job == nullptr || job->finished()) continue;
    std::vector<TaskRange> tasks;
    for (const auto& [id, node] : step.durable.nodes()) {
      auto here = LeasedHere(node, *job, [&](TaskIndex i) {
        const StopFact* stop = job->StopOf(i);
        return stop != nullptr && stop->since + most <= step.now;
      });
      tasks.insert(tasks.end(), here.begin(), here.end());
    }
    if (tasks.empty()) continue;
    step.Record(TasksCancelled{
        job->id(), Normalized(std::move(tasks)),
        "it was stopped for " + FormatDuration(most) + ", the most that the hub allows"});
    for (const auto& [id, node] : step.durable.nodes()) {
      if (step.board.nodes.at(id).present) StopCancelled(step, id, *job);
    }
  }
  if (!stops.empty()) step.out.wake_at = std::min(step.out.wake_at, stops.begin()->first + most);
}

// ---- Questions

namespace {

// Calls fn(node, ref) for each attempt, or part of a gang, of the job that is stopped.
void EachStopped(const EngineState& state, const JobState& job,
                 const std::function<void(NodeId, const AttemptRef&)>& fn) {
  for (const auto& [id, node] : state.durable().nodes()) {
    auto tasks = LeasedHere(node, job, [&](TaskIndex i) { return job.StopOf(i) != nullptr; });
    for (const TaskRange& range : tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        fn(id, {job.id(), i, job.CurrentAttempt(i)});
      }
    }
  }
}

}  // namespace

std::optional<StopFact> Engine::StopOf(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  const StopFact* stop = job == nullptr ? nullptr : job->stopped();
  return stop == nullptr ? std::nullopt : std::optional(*stop);
}

std::optional<StopFact> Engine::StopOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  const bool is_there = job != nullptr && index < job->task_count();
  const StopFact* stop = is_there ? job->StopOf(index) : nullptr;
  return stop == nullptr ? std::nullopt : std::optional(*stop);
}

std::vector<TaskRange> Engine::StoppedTasks(JobId id) const {
  std::vector<TaskRange> tasks;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) return tasks;
  for (const auto& [index, stop] : job->stopped_tasks()) AppendIndex(tasks, index);
  return tasks;
}

Freezing Engine::FreezingOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || index >= job->task_count()) return Freezing::kNone;
  if (job->StateOf(index) != TaskState::kLeased || job->StopOf(index) == nullptr) {
    return Freezing::kNone;
  }
  const AttemptRef ref{id, index, job->CurrentAttempt(index)};
  const GangRun* gang = job->GangOf(index);
  const auto& frozen = state_->live.frozen;
  if (gang == nullptr) {
    auto at = frozen.lower_bound({ref, NodeId()});
    return at != frozen.end() && at->first == ref ? Freezing::kFrozen : Freezing::kFreezing;
  }
  const bool all = std::ranges::all_of(gang->parts, [&](const GangLeased::Part& part) {
    return frozen.contains({ref, part.node}) ||
           !IsCurrent(state_->durable().NodeOf(part.node), *job, ref);
  });
  return all ? Freezing::kFrozen : Freezing::kFreezing;
}

Freezing Engine::FreezingOf(JobId id) const {
  if (!StopOf(id)) return Freezing::kNone;
  const Stopped stopped = StoppedOf(id);
  return stopped.frozen == stopped.tasks ? Freezing::kFrozen : Freezing::kFreezing;
}

Engine::Stopped Engine::StoppedOf(JobId id) const {
  Stopped stopped;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || (job->stopped() == nullptr && job->stopped_tasks().empty())) return stopped;
  std::set<TaskIndex> tasks, moving;
  EachStopped(*state_, *job, [&](NodeId node, const AttemptRef& ref) {
    tasks.insert(ref.index);
    if (state_->live.frozen.contains({ref, node})) return;
    moving.insert(ref.index);
    const bool is_new = stopped.unanswered.empty() || stopped.unanswered.back() != node;
    if (is_new) stopped.unanswered.push_back(node);
  });
  stopped.tasks = static_cast<uint32_t>(tasks.size());
  stopped.frozen = static_cast<uint32_t>(tasks.size() - moving.size());
  return stopped;
}

std::vector<Engine::LeasedOn> Engine::LeasesOf(JobId id) const {
  std::vector<LeasedOn> leases;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) return leases;
  for (const auto& [node, record] : state_->durable().nodes()) {
    for (const TaskRange& range : LeasedHere(record, *job, [](TaskIndex) { return true; })) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        leases.push_back({node, {id, i, job->CurrentAttempt(i)}});
      }
    }
  }
  return leases;
}

std::vector<NodeId> Engine::WithFeature(JobId id, std::string_view feature) const {
  std::vector<NodeId> nodes;
  for (const auto& [node, record] : state_->durable().nodes()) {
    auto lease = record.leases.lower_bound({id, Attempt(), 0});
    if (lease == record.leases.end() || lease->first.job != id) continue;
    const std::vector<std::string>& has = state_->live.board.nodes.at(node).offer.features;
    if (std::ranges::find(has, feature) != has.end()) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace spate::engine
