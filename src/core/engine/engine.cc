// Engine: Apply, Step, Resume. What each event decides is in on_job.cc, on_node.cc, on_task.cc;
// where tasks go is decided by place/.
#include "core/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "core/engine/engine_state.h"

namespace spate::engine {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSucceeded:
      return "succeeded";
    case Verdict::kRetry:
      return "retry";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "?";
}

void Output::Clear() {
  records.clear();
  sends.clear();
  notices.clear();
  wake_at = Instant::Never();
}

void StepContext::Record(engine::Record record) {
  state.Apply(record);
  out.records.push_back(std::move(record));
}

uint64_t ShareOf(const NodeState& node, const Needs& needs) {
  uint32_t fit = FitCount(node.offer, needs);
  return fit == 0 ? 0 : place::kWhole / fit;
}

JobState* EngineState::FindJob(JobId id) {
  auto it = jobs.find(id);
  return it == jobs.end() ? nullptr : &it->second;
}

std::map<LeaseKey, LeasedRange>::iterator FindLease(NodeState& node, const AttemptRef& ref) {
  auto it = node.leases.upper_bound({ref.job, ref.attempt, ref.index});
  if (it == node.leases.begin()) return node.leases.end();
  --it;
  bool inside = it->first.job == ref.job && it->first.attempt == ref.attempt &&
                ref.index < it->first.first + it->second.count;
  return inside ? it : node.leases.end();
}

bool IsCurrent(NodeState& node, const JobState& job, const AttemptRef& ref) {
  return ref.index < job.task_count() && job.StateOf(ref.index) == TaskState::kLeased &&
         job.CurrentAttempt(ref.index) == ref.attempt && FindLease(node, ref) != node.leases.end();
}

// ---- Apply -------------------------------------------------------------------------------------

namespace {

void TakeFromLease(NodeState& node, JobState& job, const AttemptRef& ref) {
  auto it = FindLease(node, ref);
  CHECK(it != node.leases.end());
  uint64_t share = ShareOf(node, job.request(it->second.request));
  CHECK(node.used >= share);
  node.used -= share;
  if (--it->second.left == 0) node.leases.erase(it);
}

class Applier {
 public:
  explicit Applier(EngineState& state) : state_(state) {}

  void operator()(const JobAccepted& record) {
    CHECK(!state_.jobs.contains(record.job));
    state_.jobs.try_emplace(record.job, record.job, record.plan);
    state_.active.insert(record.job);
  }
  void operator()(const JobGrown& record) {
    JobOf(record.job).Grow(record);
    Activate(record.job);
  }
  void operator()(const JobSealed& record) { JobOf(record.job).Seal(); }
  void operator()(const PolicyChanged& record) { JobOf(record.job).SetPolicy(record.policy); }
  void operator()(const TasksWithdrawn& record) { JobOf(record.job).Withdraw(record.tasks); }
  void operator()(const TasksReopened& record) {
    JobOf(record.job).Reopen(record.tasks);
    Activate(record.job);
  }
  void operator()(const JobHeld& record) {
    JobOf(record.job).Hold(record.reason);
    state_.active.erase(record.job);
  }
  void operator()(const JobReleased& record) {
    JobOf(record.job).Release();
    Activate(record.job);
  }
  void operator()(const Leased& record) {
    JobState& job = JobOf(record.job);
    NodeState& node = state_.nodes[record.node];
    for (TaskRange range : record.tasks) {
      uint32_t request = job.RequestOf(range.first);
      job.Lease(range, record.attempt);
      node.leases[{record.job, record.attempt, range.first}] = {range.count, range.count, request};
      node.used += ShareOf(node, job.request(request)) * range.count;
    }
  }
  void operator()(const Returned& record) {
    JobState& job = JobOf(record.job);
    NodeState& node = state_.nodes[record.node];
    for (TaskRange range : record.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        TakeFromLease(node, job, {record.job, i, record.attempt});
      }
      job.Return(range, record.attempt);
    }
  }
  void operator()(const AttemptEnded& record) {
    JobState& job = JobOf(record.end.ref.job);
    TakeFromLease(state_.nodes[record.node], job, record.end.ref);
    job.End(record);
  }
  void operator()(const JobFinished& record) {
    JobOf(record.job).Finish();
    state_.active.erase(record.job);
  }

 private:
  JobState& JobOf(JobId id) {
    JobState* job = state_.FindJob(id);
    CHECK(job != nullptr);
    return *job;
  }
  void Activate(JobId id) {
    const JobState& job = JobOf(id);
    if (job.held() == HoldReason::kNone && !job.finished()) state_.active.insert(id);
  }

  EngineState& state_;
};

}  // namespace

void EngineState::Apply(const Record& record) { std::visit(Applier(*this), record); }

// ---- Step --------------------------------------------------------------------------------------

namespace {

void Lease(StepContext& step, JobState& job, NodeId node, Head head) {
  step.out.sends.push_back(
      SendLease{node, job.id(), head.attempt, head.request, job.request(head.request), head.tasks});
  step.Record(Leased{node, job.id(), head.attempt, std::move(head.tasks)});
}

// A node that placement may still give tasks to in this step.
struct OpenNode {
  NodeId id;
  const NodeState* state;
};

// What the open nodes can take of a request.
std::vector<place::NodeView> ViewsFor(const std::vector<OpenNode>& nodes, JobId job,
                                      const Needs& needs) {
  std::vector<place::NodeView> views;
  for (const auto& [id, node] : nodes) {
    uint32_t fit = FitCount(node->offer, needs);
    if (fit == 0) continue;
    auto wall = node->task_wall.find(job);
    views.push_back(
        {id, fit, node->used, wall == node->task_wall.end() ? Duration{} : wall->second});
  }
  return views;
}

// How much of a job may be given out now.
struct Bound {
  uint32_t ready = 0;  // tasks
  Limits limits;       // for each node
};

// A rule that may hold the job (--halt) bounds what is leased ahead; every slot is filled still.
Bound BoundOf(const JobState& job, const std::vector<place::NodeView>& views,
              const Limits& limits) {
  Bound bound{job.counts().queued, limits};
  uint64_t most = LeasesBeforeHold(job);
  if (most == UINT32_MAX) return bound;
  uint64_t fit = 0;
  for (const place::NodeView& view : views) fit += view.fit;
  if (most <= fit) {
    most = fit;
    bound.limits.lease_tasks = 0;  // nothing ahead
  }
  uint64_t left = most > job.counts().leased ? most - job.counts().leased : 0;
  bound.ready = static_cast<uint32_t>(std::min<uint64_t>(bound.ready, left));
  return bound;
}

// Gives the heads of one job's queues to nodes with room. A request for which no node has room
// waits, and its nodes are closed for what stands behind it, so that small tasks never starve
// large ones; a request that fits none of them stands in nobody's way. Looks at nodes once for
// each request that comes to the head.
void PlaceJob(StepContext& step, JobState& job, std::vector<OpenNode>& nodes) {
  std::vector<bool> passed;
  while (!nodes.empty()) {
    Head head = job.Peek(step.now, 1, passed);
    if (head.count == 0) return;
    uint32_t request = head.request;
    const Needs& needs = job.request(request);
    auto views = ViewsFor(nodes, job.id(), needs);
    Bound bound = BoundOf(job, views, step.state.limits);
    if (bound.ready == 0) return;
    auto assignments = place::Spread(std::move(views), bound.ready, bound.limits);
    if (assignments.empty()) {
      passed.resize(job.request_count());
      passed[request] = true;
      std::erase_if(nodes, [&](const OpenNode& n) { return FitCount(n.state->offer, needs) > 0; });
      continue;
    }
    for (const place::Assignment& assignment : assignments) {
      // A lease holds equal tasks; where fewer than the room stand at the head, look again.
      head = job.Peek(step.now, assignment.count, passed);
      if (head.count == 0 || head.request != request) break;
      bool all = head.count == assignment.count;
      Lease(step, job, assignment.node, std::move(head));
      if (!all) break;
    }
  }
}

void Place(StepContext& step) {
  std::vector<OpenNode> nodes;
  for (const auto& [id, node] : step.state.nodes) {
    if (node.present) nodes.push_back({id, &node});
  }
  // Placement may not change which jobs are active.
  for (JobId id : step.state.active) {
    JobState& job = *step.state.FindJob(id);
    PlaceJob(step, job, nodes);
    step.out.wake_at = std::min(step.out.wake_at, job.NextDue(step.now));
  }
}

// A job that finished in a step and was given more to do by a later event of it has not finished.
void DropUndone(StepContext& step) {
  std::erase_if(step.out.notices, [&](const Notice& notice) {
    const auto* finished = std::get_if<NoticeFinished>(&notice);
    return finished != nullptr && !step.state.FindJob(finished->job)->finished();
  });
}

}  // namespace

Engine::Engine(const Limits& limits) : state_(std::make_unique<EngineState>(limits)) {}
Engine::~Engine() = default;

void Engine::Apply(const Record& record) { state_->Apply(record); }

void Engine::Step(const Input& input, Output& out) {
  StepContext step{*state_, input.now, out};
  for (const Event& event : input.events) {
    std::visit([&](const auto& e) { On(step, e); }, event);
  }
  LoseSilentNodes(step);
  DropUndone(step);
  Place(step);
}

void Engine::Resume(LastNodes nodes, Instant now, Output& out) {
  StepContext step{*state_, now, out};
  for (auto& [id, node] : state_->nodes) {
    if (nodes == LastNodes::kEnded) {
      EndLeasesOf(step, id, Cause::kStopped, "the run was ended before this attempt");
    } else {
      On(step, NodeSilent{id, now});
    }
  }
  for (auto& [id, job] : state_->jobs) CheckJob(step, job);
  Step({now, {}}, out);
}

// ---- Questions ---------------------------------------------------------------------------------

std::optional<JobCounts> Engine::Counts(JobId id) const {
  const JobState* job = state_->FindJob(id);
  if (job == nullptr) return std::nullopt;
  return job->counts();
}

std::optional<TaskState> Engine::StateOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->FindJob(id);
  if (job == nullptr || index >= job->task_count()) return std::nullopt;
  return job->StateOf(index);
}

HoldReason Engine::Held(JobId id) const {
  const JobState* job = state_->FindJob(id);
  return job == nullptr ? HoldReason::kNone : job->held();
}

std::vector<Needs> Engine::Requests(JobId id) const {
  const JobState* job = state_->FindJob(id);
  return job == nullptr ? std::vector<Needs>{} : job->requests();
}

bool Engine::Finished(JobId id) const {
  const JobState* job = state_->FindJob(id);
  return job != nullptr && job->finished();
}

std::string Engine::Explain(JobId id, TaskIndex index, Instant now) const {
  JobState* job = state_->FindJob(id);
  if (job == nullptr || index >= job->task_count()) return "there is no such task";
  if (job->StateOf(index) != TaskState::kQueued) return "";
  if (job->held() == HoldReason::kUser) return "its job is held; release or resume it";
  if (job->held() == HoldReason::kHaltRule) return "its job was stopped by --halt; resume it";
  if (job->held() == HoldReason::kMaxFailures) {
    return "its job was stopped by --max-failures; resume it with a higher one";
  }
  if (Instant due = job->DueOf(index); due > now) {
    return fmt::format("it waits {} before its next try", FormatDuration(due - now));
  }
  const Needs& needs = job->request(job->RequestOf(index));
  bool any = false;
  std::string never;
  for (const auto& [node_id, node] : state_->nodes) {
    if (!node.present) continue;
    if (FitCount(node.offer, needs) > 0) any = true;
    if (auto why = WhyNever(node.offer, needs)) never = *why;
  }
  if (any) return "other tasks are ahead of it; it starts when a slot is free";
  return never.empty() ? "no node has joined" : "no node can ever run it: it " + never;
}

void Engine::CheckInvariants() const {
  std::map<JobId, uint64_t> leased;
  for (const auto& [id, node] : state_->nodes) {
    uint64_t used = 0;
    for (const auto& [key, range] : node.leases) {
      JobState* job = state_->FindJob(key.job);
      CHECK(job != nullptr);
      uint32_t left = 0;
      for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
        left += job->StateOf(i) == TaskState::kLeased && job->CurrentAttempt(i) == key.attempt;
      }
      CHECK(left == range.left);
      CHECK(left > 0);
      leased[key.job] += left;
      used += ShareOf(node, job->request(range.request)) * left;
    }
    if (node.present) CHECK(used == node.used);
  }
  for (const auto& [id, job] : state_->jobs) {
    job.CheckInvariants();
    CHECK(leased[id] == job.counts().leased);
    bool active = job.held() == HoldReason::kNone && !job.finished();
    CHECK(active == state_->active.contains(id));
    CHECK(!job.finished() || job.AllEnded());
  }
}

uint64_t Engine::Digest() const {
  uint64_t hash = 0;
  for (const auto& [id, job] : state_->jobs) hash = hash * 31 + job.Digest();
  for (const auto& [id, node] : state_->nodes) {
    for (const auto& [key, range] : node.leases) {
      hash = hash * 31 + key.job.value * 131 + key.attempt.value * 1009 + key.first * 17 +
             range.left * 7 + id.value;
    }
  }
  return hash;
}

uint64_t Engine::StateBytes() const {
  uint64_t bytes = sizeof(EngineState);
  for (const auto& [id, job] : state_->jobs) bytes += job.StateBytes();
  for (const auto& [id, node] : state_->nodes) bytes += 256 + node.leases.size() * 96;
  return bytes;
}

}  // namespace spate::engine
