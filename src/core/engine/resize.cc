// Requests of tasks that change. Queued tasks have the new one at once. A leased one holds the
// larger of both until its node has confirmed: so nothing is oversold, whatever the node answers
// and when. A node that comes back is ordered again what it has not confirmed; it answers an order
// that it has carried out as it did the first time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/units.h"
#include "core/engine/engine_state.h"
#include "core/engine/other_requests.h"

namespace spate::engine {
namespace {

// A leased task, and where it is.
struct Leaf {
  NodeId node;
  AttemptRef ref;
  uint32_t request = 0;  // that its lease holds
};

// Leased tasks of the job, but for gangs, that `wanted` takes, on any node. Cost: the nodes, and
// the job's leases.
std::vector<Leaf> LeavesOf(const Durable& durable, const JobState& job,
                           const std::function<bool(TaskIndex)>& wanted) {
  std::vector<Leaf> leaves;
  for (const auto& [id, node] : durable.nodes()) {
    auto lease = node.leases.lower_bound({job.id(), Attempt(), 0});
    for (; lease != node.leases.end() && lease->first.job == job.id(); ++lease) {
      const auto& [key, range] = *lease;
      if (range.procs > 0) continue;
      for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
        if (job.StateOf(i) != TaskState::kLeased || job.CurrentAttempt(i) != key.attempt) continue;
        if (wanted(i)) leaves.push_back({id, {job.id(), i, key.attempt}, range.request});
      }
    }
  }
  return leaves;
}

// Tasks inside a program of their own have no processes that could be bound or limited.
bool CanResize(const place::Node& node) {
  const std::vector<std::string>& has = node.offer.features;
  return std::ranges::find(has, kResizes) != has.end() &&
         std::ranges::find(has, kInProgram) == has.end();
}

std::string InWords(uint32_t milli_cpus) { return fmt::format("{:g}", milli_cpus / 1000.0); }

// Why the node can never have a task of this size.
std::string WhyTooLarge(const Offer& offer, const TaskSize& to) {
  if (to.milli_cpus.value_or(0) > offer.milli_cpus) {
    return fmt::format("node {} has {} cpus", offer.node_name, InWords(offer.milli_cpus));
  }
  if (offer.memory > 0 && to.memory.value_or(0) > offer.memory) {
    return fmt::format("node {} has {} of memory", offer.node_name, FormatSize(offer.memory));
  }
  return "";
}

// Why another user's gang, of which it is announced when it starts, would start later: the task
// takes more of a node of that gang, or is to end after that start.
std::string WhyItDelays(const Live& live, const JobState& job, const Leaf& leaf,
                        const Needs& before, const Needs& after, Instant now) {
  const place::Board& board = live.board;
  const place::Node& node = board.nodes.at(leaf.node);
  const place::JobHere& here = node.jobs.at(job.id());
  auto end_of = [&](const Needs& needs) {
    const Duration each = needs.time.ns > 0 ? needs.time : here.wall;
    return each.ns > 0 ? std::max(here.given_at + each, now) : Instant::Never();
  };
  const bool grows = after.milli_cpus > before.milli_cpus || after.memory > before.memory;
  for (const place::GangPromise& promise : live.gangs.promises()) {
    const Instant start = promise.told();
    const place::Job* of = board.FindJob(promise.job);
    if (start == Instant::Never() || of == nullptr || *of->user_name == job.user()) continue;
    if (of->facts.gangs_waiting == 0) continue;  // it has started, or was cancelled
    const bool longer = end_of(before) <= start && end_of(after) > start;
    if (!longer && (!grows || end_of(after) <= start)) continue;
    for (const place::GangPlace& place : promise.places) {
      if (place.node != leaf.node) continue;
      // Both together have room: the gang waits for others than this task.
      place::Amounts held = node.held;
      place::SubtractTasks(held, node.offer, before, 1);
      place::AddTasks(held, node.offer, after, 1);
      const TaskClass& of_gang = of->ClassOf(promise.request);
      if (place::ProcsThatFit(node.offer, held, of_gang) >= place.procs) continue;
      return fmt::format(
          "node {} is reserved from {} from now on for a parallel task of job {} of "
          "user {}",
          node.offer.node_name, FormatDuration(std::max(start - now, Duration())),
          promise.job.value, *of->user_name);
    }
  }
  return "";
}

std::string WhyNot(const Live& live, const JobState& job, const Leaf& leaf, const TaskSize& to,
                   Instant now) {
  const place::Node& node = live.board.nodes.at(leaf.node);
  const Sizes::Change* change = job.ResizeOf(leaf.ref.index);
  if (change != nullptr && change->fact.stage == ResizeStage::kOrdered) {
    return fmt::format("its node{} has not confirmed an earlier change yet",
                       node.offer.node_name.empty() ? "" : " " + node.offer.node_name);
  }
  if (job.request_count() + 2 > live.board.limits.requests) {
    return fmt::format(
        "the tasks of its job have {} different requests, the most that a job may "
        "have",
        job.request_count());
  }
  if (node.offer.slots == 0) return "";  // what it can do is known once it has joined
  if (!CanResize(node)) {
    return fmt::format("the program of node {} cannot change a running task", node.offer.node_name);
  }
  std::string too_large = WhyTooLarge(node.offer, to);
  if (!too_large.empty()) return too_large;
  const Needs& before = job.request(leaf.request);
  return WhyItDelays(live, job, leaf, before, Resized(before, to, true), now);
}

// The sizes of `to` that are other ones than the task has.
TaskSize Changes(const JobState& job, TaskIndex index, TaskSize to) {
  const Needs& needs = job.request(job.RequestOf(index));
  if (to.milli_cpus == needs.milli_cpus) to.milli_cpus.reset();
  if (to.memory == needs.memory) to.memory.reset();
  if (to.time_limit == job.TimeLimitOf(index)) to.time_limit.reset();
  return to;
}

void Order(StepContext& step, const JobState& job, const Leaf& leaf, const ResizeTasks& event,
           Instant since) {
  const TaskIndex index = leaf.ref.index;
  const TaskSize to = Changes(job, index, event.to);
  if (to.empty()) return;
  const Needs now = job.request(job.RequestOf(index));
  OtherRequests others(job);
  TaskClass wanted = job.requests()[job.RequestOf(index)];
  wanted.needs = Resized(std::move(wanted.needs), to, true);
  TaskClass both = job.requests()[leaf.request];
  both.needs = Larger(std::move(both.needs), wanted.needs);
  others.Add(index, others.NumberOf(std::move(wanted)));
  const uint32_t held = others.NumberOf(std::move(both));
  NeedsChanged changed = others.Take();
  if (!changed.runs.empty() || !changed.new_requests.empty()) step.Record(std::move(changed));
  step.Record(TasksResized{.job = job.id(),
                           .stage = ResizeStage::kOrdered,
                           .tasks = {{index, 1}},
                           .to = to,
                           .node = leaf.node,
                           .attempt = leaf.ref.attempt,
                           .request = held,
                           .from = {now.milli_cpus, now.memory, job.TimeLimitOf(index)},
                           .by = event.by,
                           .since = since,
                           .at = step.wall()});
  if (step.board.nodes.at(leaf.node).present) {
    step.out.sends.push_back(SendResize{leaf.node, leaf.ref, to, since});
  }
}

// The outcome of a change that was ordered.
void Settle(StepContext& step, const JobState& job, NodeId node, const AttemptRef& ref,
            std::string refused) {
  const Sizes::Change change = *job.ResizeOf(ref.index);
  const uint32_t wanted = job.RequestOf(ref.index);
  const bool is_done = refused.empty();
  if (!is_done && wanted != change.before) {
    step.Record(NeedsChanged{job.id(), {}, {{ref.index, 1, change.before}}});
  }
  step.Record(TasksResized{.job = job.id(),
                           .stage = is_done ? ResizeStage::kDone : ResizeStage::kRefused,
                           .tasks = {{ref.index, 1}},
                           .to = change.fact.to,
                           .node = node,
                           .attempt = ref.attempt,
                           .request = is_done ? wanted : change.before,
                           .from = change.fact.from,
                           .reason = std::move(refused),
                           .by = change.fact.by,
                           .since = change.fact.since,
                           .at = step.wall()});
}

}  // namespace

void On(StepContext& step, const ResizeTasks& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || job->finished() || job->cancelled() || event.to.empty()) return;
  const std::vector<TaskRange> all{{0, job->task_count()}};
  const std::vector<TaskRange> tasks =
      Normalized(Select(*job, event.tasks.empty() ? all : event.tasks,
                        [&](TaskIndex i) { return !job->Cancelled(i); }));
  // A node's late word about an earlier change must not be taken for one about this.
  const Instant since = std::max(step.now, step.live.last_resize + Duration{1});
  auto wanted = [&](TaskIndex i) { return SortedContains(tasks, i); };
  for (const Leaf& leaf : LeavesOf(step.durable, *job, wanted)) {
    // Each record may add requests.
    if (!WhyNot(step.live, *job, leaf, event.to, step.now).empty()) continue;
    Order(step, *job, leaf, event, since);
  }
  auto queued =
      Select(*job, tasks, [&](TaskIndex i) { return job->StateOf(i) == TaskState::kQueued; });
  const bool whole = event.tasks.empty() && event.to.time_limit;
  if (queued.empty() && !whole) return;
  NeedsChanged changed = WithChange(*job, queued, [&](TaskClass& each) {
    each.needs = Resized(std::move(each.needs), event.to, false);
  });
  if (job->request_count() + changed.new_requests.size() > step.board.limits.requests) return;
  if (!changed.runs.empty()) step.Record(std::move(changed));
  step.Record(TasksResized{.job = job->id(),
                           .tasks = whole ? std::vector<TaskRange>() : std::move(queued),
                           .to = event.to,
                           .by = event.by,
                           .since = since,
                           .at = step.wall()});
}

void On(StepContext& step, const ResizeTold& event) {
  const JobState* job = step.durable.FindJob(event.ref.job);
  if (job == nullptr || !step.board.nodes.contains(event.node)) return;
  if (!IsCurrent(step.durable.NodeOf(event.node), *job, event.ref)) return;  // late news
  const Sizes::Change* change = job->ResizeOf(event.ref.index);
  if (change == nullptr || change->fact.stage != ResizeStage::kOrdered) return;
  if (change->fact.since != event.since) return;
  Settle(step, *job, event.node, event.ref, event.refused);
}

void ResizeAgain(StepContext& step, NodeId id) {
  const place::Node& node = step.board.nodes.at(id);
  std::vector<std::pair<JobId, AttemptRef>> ordered;
  JobId last;
  for (const auto& [key, range] : step.durable.NodeOf(id).leases) {
    if (std::exchange(last, key.job) == key.job) continue;
    for (const auto& [index, change] : step.durable.FindJob(key.job)->resizes()) {
      if (change.fact.stage != ResizeStage::kOrdered) continue;
      const JobState& job = *step.durable.FindJob(key.job);
      const AttemptRef ref{key.job, index, job.CurrentAttempt(index)};
      if (IsCurrent(step.durable.NodeOf(id), job, ref)) ordered.emplace_back(key.job, ref);
    }
  }
  for (const auto& [job_id, ref] : ordered) {
    const JobState& job = *step.durable.FindJob(job_id);
    if (!CanResize(node)) {
      Settle(
          step, job, id, ref,
          fmt::format("the program of node {} cannot change a running task", node.offer.node_name));
      continue;
    }
    const ResizeFact& fact = job.ResizeOf(ref.index)->fact;
    step.out.sends.push_back(SendResize{id, ref, fact.to, fact.since});
  }
}

// ---- Questions

std::string Engine::WhyNotResized(JobId id, TaskIndex index, const TaskSize& to,
                                  Instant now) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || index >= job->task_count()) return "there is no such task";
  const Live& live = state_->live;
  const TaskState state = job->StateOf(index);
  if (state == TaskState::kQueued) {
    TaskClass wanted = job->requests()[job->RequestOf(index)];
    wanted.needs = Resized(std::move(wanted.needs), to, false);
    if (wanted.gang.empty() ||
        engine::WhyNeverRuns(live, job->user(), wanted, now, false).empty()) {
      return "";
    }
    return "no set of the nodes could run its processes then";
  }
  if (state != TaskState::kLeased) return "it has ended";
  if (job->GangOf(index) != nullptr) {
    return "the request of a parallel task (--procs, --nodes) does not change while it runs";
  }
  const auto leaves =
      LeavesOf(state_->durable(), *job, [index](TaskIndex each) { return each == index; });
  if (leaves.empty()) return "it has ended";
  return WhyNot(live, *job, leaves.front(), to, now);
}

std::optional<ResizeFact> Engine::ResizeOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  const Sizes::Change* change = job == nullptr ? nullptr : job->ResizeOf(index);
  return change == nullptr ? std::nullopt : std::optional(change->fact);
}

std::optional<Duration> Engine::TimeLimitOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::nullopt : job->TimeLimitOf(index);
}

}  // namespace spate::engine
