// Engine: Step and Resume. What each event decides is in on_job.cc, on_node.cc, on_task.cc,
// after.cc and sick.cc; what a record changes in apply.cc; who gets what in pass.cc; what people
// may ask in questions.cc.
#include "core/engine/engine.h"

#include <algorithm>

#include "base/check.h"
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
    case Verdict::kCancelled:
      return "cancelled";
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

uint32_t FitNow(const NodeState& node, const JobState& job, uint32_t request, Instant now,
                bool even_sick) {
  const Needs& needs = job.request(request);
  if (!node.IsThere()) return 0;
  if (!even_sick && (!node.sick.empty() || node.Fails(job.user()))) return 0;
  if (!TakesUser(node.offer, job.user()) || !OutlivesTask(node.offer, needs, now)) return 0;
  return FitCount(node.offer, needs);
}

uint32_t AheadOf(const EngineState& state, const NodeState& node, JobId job) {
  uint32_t least = state.HoldsLongAhead() ? 1 : 0;
  auto here = node.jobs.find(job);
  if (here == node.jobs.end() || here->second.wall.ns <= 0) return least;
  int64_t tasks = state.limits.lease_ahead.ns / std::max<int64_t>(here->second.wall.ns, 100'000);
  uint32_t most = state.limits.lease_tasks / std::max(node.offer.slots, 1u);
  return std::max(least, static_cast<uint32_t>(std::min<int64_t>(tasks, most)));
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

namespace {

// A job that finished in a step and was given more to do by a later event of it has not finished;
// nor is one held that was released.
void DropUndone(StepContext& step) {
  std::erase_if(step.out.notices, [&](const Notice& notice) {
    if (const auto* held = std::get_if<NoticeHeld>(&notice)) {
      return step.state.FindJob(held->job)->held() == HoldReason::kNone;
    }
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
  SettleDependents(step);
  DropUndone(step);
  Place(step);
}

void Engine::SetAside(JobId job) { state_->set_aside.insert(job); }

void Engine::Resume(LastNodes nodes, Instant now, Output& out) {
  StepContext step{*state_, now, out};
  for (auto& [id, node] : state_->nodes) {
    if (nodes == LastNodes::kEnded) {
      EndLeasesOf(step, id, Cause::kStopped, "the run was ended before this attempt");
    } else {
      On(step, NodeSilent{id, now});
    }
  }
  // The commit may have been cut off between what finished a job and what follows from that.
  for (auto& [id, job] : state_->jobs) {
    SettleKnown(step, job, {});
    CheckJob(step, job);
    if (job.finished()) step.finished.push_back(id);
  }
  SettleDependents(step);
  Step({now, {}}, out);
}

bool Engine::Forget(JobId id) {
  auto job = state_->jobs.find(id);
  if (job == state_->jobs.end() || !job->second.finished()) return false;
  state_->jobs.erase(job);
  return true;
}

bool Engine::ForgetNode(NodeId id) {
  auto at = state_->nodes.find(id);
  if (at == state_->nodes.end()) return true;
  const NodeState& node = at->second;
  if (node.present || node.lost_at != Instant::Never() || !node.leases.empty()) return false;
  if (node.drained || !node.sick.empty()) return false;
  bool of_open_job = std::ranges::any_of(node.set_aside, [&](const auto& each) {
    const JobState* job = state_->FindJob(each.first);
    return job != nullptr && !job->finished();
  });
  if (of_open_job) return false;
  state_->open.erase(id);
  state_->nodes.erase(at);
  return true;
}

// A finished job takes nothing of nodes and users, and waits for nothing. What its leases counted
// for its user's turn is forgotten, as at a restart.
bool Engine::Adopt(JobId id, Engine& past) {
  auto job = past.state_->jobs.find(id);
  if (job == past.state_->jobs.end() || !job->second.finished()) return false;
  CHECK(!state_->jobs.contains(id));
  state_->users.try_emplace(job->second.user());
  job->second.account.due = Instant::Never();
  state_->jobs.insert(past.state_->jobs.extract(job));
  return true;
}

}  // namespace spate::engine
