#include "core/engine/testing_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate::engine {
namespace {

void ForEach(const std::vector<TaskRange>& tasks, const auto& f) {
  for (const TaskRange& range : tasks) {
    for (uint32_t i = 0; i < range.count; ++i) f(range.first + i);
  }
}

void AddRuns(NaiveJob& job, const std::vector<RequestRun>& runs) {
  for (const RequestRun& run : runs) {
    job.tasks.insert(job.tasks.end(), run.count, NaiveTask{.request = run.request});
  }
}

bool IsLost(const NaiveTask& task) {
  return task.state == TaskState::kFailed || task.state == TaskState::kCancelled ||
         task.state == TaskState::kUnknown;
}

// The rules for the end of an attempt, once more and in other words.
std::pair<Verdict, bool> Judge(const NaiveJob& job, const NaiveTask& task, const AttemptEnd& end,
                               bool counted) {
  const Cause cause = end.cause;
  const RetryPolicy& retry = job.policy.retry;
  uint32_t retries = job.requests[task.request].retries.value_or(retry.retries);
  bool retried = (retry.retry_on >> static_cast<int>(cause) & 1) != 0;
  if (cause == Cause::kExit) {
    if (!retry.exits.empty()) {
      retried = std::ranges::any_of(retry.exits, [&](const ExitRange& range) {
        return static_cast<int32_t>(range.first) <= end.status &&
               end.status <= static_cast<int32_t>(range.last);
      });
    }
    const bool by_signal = end.status > 128 && end.status < 193;
    retried |= by_signal && (retry.retry_on & CauseBit(Cause::kSignal)) != 0;
  }
  switch (cause) {
    case Cause::kSuccess:
      return {Verdict::kSucceeded, true};
    case Cause::kStopped:
      return {retry.once ? Verdict::kUnknown : Verdict::kRetry, false};
    case Cause::kNode:
      if (retry.once) return {Verdict::kUnknown, false};
      return {retried && task.losses + 1 < 5 ? Verdict::kRetry : Verdict::kFailed, false};
    case Cause::kStart:
      // The node's failure, as long as there is another one; the record says whether there was.
      if (!counted && task.no_starts + 1 < 5) return {Verdict::kRetry, false};
      return {retried && task.tries < retries ? Verdict::kRetry : Verdict::kFailed, true};
    case Cause::kExit:
    case Cause::kSignal:
    case Cause::kCheck:
      // Only where its user wished it, and as often.
      if (!counted && retried && task.elsewhere < retry.elsewhere) return {Verdict::kRetry, false};
      [[fallthrough]];
    default:
      return {retried && task.tries < retries ? Verdict::kRetry : Verdict::kFailed, true};
  }
}

bool IsTooLate(const TaskClass& of_tasks, Instant start) {
  return of_tasks.deadline && start + of_tasks.needs.time > *of_tasks.deadline;
}

bool HasPairs(const NaiveJob& job) {
  return std::ranges::any_of(job.after, [](const After& a) { return a.kind == AfterKind::kEach; });
}

bool HasRun(const NaiveJob& job, TaskIndex index) {
  return job.tasks[index].state == TaskState::kSucceeded;
}

bool WaitsForParents(const NaiveJob& job, const NaiveTask& task) {
  return std::ranges::any_of(task.parents, [&](TaskIndex i) { return !HasRun(job, i); });
}

}  // namespace

JobCounts NaiveJob::Counts() const {
  JobCounts counts;
  for (const NaiveTask& task : tasks) {
    if (task.left_list) continue;
    ++counts.total;
    switch (task.state) {
      case TaskState::kQueued:
        ++counts.queued;
        break;
      case TaskState::kLeased:
        ++counts.leased;
        break;
      case TaskState::kSucceeded:
        ++counts.succeeded;
        break;
      case TaskState::kFailed:
        ++counts.failed;
        break;
      case TaskState::kCancelled:
        ++counts.cancelled;
        break;
      case TaskState::kUnknown:
        ++counts.unknown;
        break;
    }
  }
  return counts;
}

std::string NaiveModel::WhyOverdue(Instant now) const {
  for (const auto& [id, job] : jobs_) {
    for (const NaiveTask& task : job.tasks) {
      const TaskClass& of = job.requests[task.request];
      bool runs = task.state == TaskState::kLeased && !task.cancelled && !job.cancelled;
      if (runs && of.deadline && *of.deadline < now) {
        return fmt::format("a task of job {} runs past its deadline", id.value);
      }
    }
  }
  return "";
}

std::string NaiveModel::Apply(const Record& record) {
  std::string problem = Check(record);
  if (problem.empty()) std::visit([this](const auto& r) { Do(r); }, record);
  return problem;
}

std::string NaiveModel::ApplyLive(const Record& record, Instant now) {
  if (const auto* leased = std::get_if<Leased>(&record); leased && jobs_.contains(leased->job)) {
    const NaiveJob& job = jobs_.at(leased->job);
    if (job.held != HoldReason::kNone) return "leased from a held job";
    if (job.stopped) return "leased from a stopped job";
    bool stopped = false;
    ForEach(leased->tasks, [&](TaskIndex i) { stopped |= job.tasks[i].stopped; });
    if (stopped) return "leased a stopped task";
    auto offer = offers_.find(leased->node);
    if (offer == offers_.end()) return "leased to a node that is not there";
    std::string problem = WhyNotLeased(*leased, job, offer->second, now);
    ForEach(leased->tasks, [&](TaskIndex i) {
      if (i >= job.tasks.size()) return;
      const NaiveTask& task = job.tasks[i];
      if (task.due > now) problem = "leased before it is due";
      if (IsTooLate(job.requests[task.request], now)) problem = "leased too late for its deadline";
      if (FitCount(offer->second, job.requests[task.request].needs) == 0) problem = "it never fits";
      for (const After& after : job.after) {
        if (after.kind != AfterKind::kEach) problem = "its job waits for another one";
        const auto& others = jobs_[after.job].tasks;
        if (!task.pairs) continue;
        if (i >= others.size() || others[i].state != TaskState::kSucceeded) {
          problem = "it waits for the same task of another job";
        }
      }
    });
    if (!problem.empty()) return problem;
  }
  return Apply(record);
}

std::string NaiveModel::WhyNotLeased(const Leased& leased, const NaiveJob& job, const Offer& offer,
                                     Instant now) const {
  if (job.cancelled) return "leased from a cancelled job";
  if (!TakesUser(offer, job.user)) return "leased to a node of another user";
  if (drained_.contains(leased.node)) return "leased to a drained node";
  if (sick_.contains({leased.node, JobId()}) && OthersTake(leased, job, now)) {
    return "leased to a node that is set aside";
  }
  uint32_t running = RunningOf(job.user);
  uint32_t more = 0;
  ForEach(leased.tasks, [&](TaskIndex) { ++more; });
  auto user = users_.find(job.user);
  uint32_t most = user == users_.end() ? 0 : user->second.max_running;
  if (most > 0 && running + more > most) return "its user has too much";
  if (more > GroupRoomOf(job.user)) return "its user's group has too much";
  most = job.policy.max_running;
  return most > 0 && job.Counts().leased + more > most ? "its job has too much" : "";
}

// A node that fails tasks is better than none.
bool NaiveModel::OthersTake(const Leased& leased, const NaiveJob& job, Instant now) const {
  constexpr ptrdiff_t kFailsUser = 3;
  const Needs& needs = job.requests[job.tasks[leased.tasks.front().first].request].needs;
  return std::ranges::any_of(offers_, [&](const auto& other) {
    const auto& [id, offer] = other;
    if (drained_.contains(id) || sick_.contains({id, JobId()}) ||
        sick_.contains({id, leased.job}) || no_start_.contains({id, leased.job})) {
      return false;
    }
    // By jobs of the user that have ended, and by those that go on.
    std::set<JobId> by;
    if (auto blames = blames_.find(id); blames != blames_.end()) {
      for (const Blame& blame : blames->second) {
        if (blame.user == job.user) by.insert(blame.by);
      }
    }
    for (const auto& [node, other_job] : sick_) {
      auto known = jobs_.find(other_job);
      if (node == id && known != jobs_.end() && known->second.user == job.user)
        by.insert(other_job);
    }
    return std::ssize(by) < kFailsUser && TakesUser(offer, job.user) &&
           OutlivesTask(offer, needs, now) && FitCount(offer, needs) > 0;
  });
}

uint64_t NaiveModel::GroupRoomOf(const std::string& user) const {
  auto mine = users_.find(user);
  if (mine == users_.end() || mine->second.group.empty()) return UINT64_MAX;
  auto group = users_.find(mine->second.group);
  if (group == users_.end() || group->second.max_running == 0) return UINT64_MAX;
  uint32_t running = 0;
  for (const auto& [name, rule] : users_) {
    if (rule.group == mine->second.group) running += RunningOf(name);
  }
  return group->second.max_running - std::min(group->second.max_running, running);
}

std::string NaiveModel::CheckTasks(JobId id, const std::vector<TaskRange>& tasks,
                                   TaskState state) const {
  const NaiveJob& job = jobs_.at(id);
  if (tasks.empty()) return "a record about no task";
  std::string problem;
  std::set<TaskIndex> seen;
  ForEach(tasks, [&](TaskIndex i) {
    if (i >= job.tasks.size()) {
      problem = "no such task";
    } else if (job.tasks[i].state != state) {
      problem = fmt::format("task {} is {}", i + 1, WordOf(job.tasks[i].state));
    } else if (!seen.insert(i).second) {
      problem = fmt::format("task {} is named twice", i + 1);
    }
  });
  return problem;
}

// A task withdrawn because of another one waited for it, or for a task withdrawn with it.
std::string NaiveModel::CheckWithdrawn(const TasksWithdrawn& record) const {
  if (record.left_list) {
    std::string problem;
    ForEach(record.tasks, [&](TaskIndex i) {
      const NaiveTask& task = jobs_.at(record.job).tasks.at(i);
      if (task.left_list) problem = "it has left its list twice";
      if (task.state == TaskState::kLeased) problem = "it has left its list while it runs";
    });
    return problem;
  }
  std::string problem = CheckTasks(record.job, record.tasks, TaskState::kQueued);
  if (!problem.empty() || !record.parent) return problem;
  const NaiveJob& job = jobs_.at(record.job);
  if (!IsLost(job.tasks.at(*record.parent))) return "withdrawn for a task that may yet succeed";
  std::set<TaskIndex> gone = {*record.parent};
  ForEach(record.tasks, [&](TaskIndex i) { gone.insert(i); });
  ForEach(record.tasks, [&](TaskIndex i) {
    const auto& parents = job.tasks[i].parents;
    if (std::ranges::none_of(parents, [&](TaskIndex parent) { return gone.contains(parent); })) {
      problem = "withdrawn though no parent was lost";
    }
  });
  return problem;
}

std::string NaiveModel::WhyHopeless() const {
  for (const auto& [id, job] : jobs_) {
    for (const NaiveTask& task : job.tasks) {
      if (task.state != TaskState::kQueued) continue;
      for (TaskIndex parent : task.parents) {
        if (IsLost(job.tasks[parent])) return fmt::format("job {} waits for ever", id.value);
      }
    }
  }
  return "";
}

std::string NaiveModel::CheckEnd(const AttemptEnded& record) const {
  const AttemptRef& ref = record.end.ref;
  auto held = held_.find(record.node);
  if (held == held_.end() || !held->second.contains(ref)) return "ended where it is not held";
  const NaiveJob& job = jobs_.at(ref.job);
  const NaiveTask& task = job.tasks[ref.index];
  if (task.state != TaskState::kLeased || task.attempt != ref.attempt.value) return "not current";
  if (IsCutOff(record.end) && record.end.wall.ns > 0 && record.verdict == Verdict::kRetry &&
      task.cut_offs + 1 >= 3) {
    Duration had = std::max(task.cut_after, record.end.wall);
    Duration time = job.requests[task.request].needs.time;
    if (time < had * 2) return "cut off so often, it asks for no more time";
  }
  auto [verdict, counts] = Judge(job, task, record.end, record.counts);
  const Duration delay = counts ? job.policy.retry.delay : Duration{};
  bool again = verdict == Verdict::kRetry;
  if (again && IsTooLate(job.requests[task.request], record.ended + delay)) {
    verdict = Verdict::kFailed;
  }
  bool cancelled = job.cancelled || task.cancelled;
  if (cancelled && verdict != Verdict::kSucceeded) verdict = Verdict::kCancelled;
  if (record.verdict != verdict || record.counts != counts) {
    return fmt::format("verdict {} for {}, and not {}", WordOf(record.verdict),
                       WordOf(record.end.cause), WordOf(verdict));
  }
  return "";
}

std::string NaiveModel::Check(const Record& record) const {
  if (std::string problem = CheckBlames(record); !problem.empty()) return problem;
  if (const auto* accepted = std::get_if<JobAccepted>(&record)) {
    return jobs_.contains(accepted->job) ? "accepted twice" : "";
  }
  if (const auto* ended = std::get_if<AttemptEnded>(&record)) return CheckEnd(*ended);
  JobId id = std::visit(
      [](const auto& r) {
        if constexpr (requires { r.job; }) return r.job;
        return JobId(0);
      },
      record);
  bool of_job = id != JobId() && !std::holds_alternative<NodeCleared>(record);
  if (!of_job) return "";
  auto it = jobs_.find(id);
  if (it == jobs_.end()) return "a record about an unknown job";
  const NaiveJob& job = it->second;
  if (const auto* r = std::get_if<TasksWithdrawn>(&record)) return CheckWithdrawn(*r);
  if (const auto* r = std::get_if<NeedsChanged>(&record)) {
    std::string problem;
    for (const RequestRun& run : r->runs) {
      ForEach({{run.first, run.count}}, [&](TaskIndex i) {
        TaskState state = job.tasks[i].state;
        const bool done = state == TaskState::kSucceeded;
        if (done && job.tasks[i].left_list) problem = "other needs of a task that is not run again";
      });
    }
    return problem;
  }
  if (const auto* r = std::get_if<TasksResized>(&record)) return CheckResized(*r, job);
  if (const auto* r = std::get_if<TasksCancelled>(&record)) {
    return CheckTasks(id, r->tasks, TaskState::kLeased);
  }
  if (const auto* r = std::get_if<Returned>(&record)) {
    return CheckTasks(id, r->tasks, TaskState::kLeased);
  }
  if (const auto* r = std::get_if<JobFinished>(&record)) {
    if (job.open || job.finished) return "finished while open, or twice";
    if (r->counts != job.Counts()) return "finished with wrong counts";
    return r->counts.queued + r->counts.leased > 0 ? "finished with tasks left" : "";
  }
  if (const auto* r = std::get_if<Leased>(&record)) {
    std::string problem = CheckTasks(id, r->tasks, TaskState::kQueued);
    if (!problem.empty()) return problem;
    if (job.finished) return "leased from a finished job";
    uint32_t request = job.tasks[r->tasks.front().first].request;
    ForEach(r->tasks, [&](TaskIndex i) {
      if (given_.contains({id, i, r->attempt})) problem = "an attempt number is given twice";
      if (r->attempt.value != job.tasks[i].attempt + 1) problem = "a number is left out";
      if (job.tasks[i].request != request) problem = "a lease over two requests";
      for (TaskIndex parent : job.tasks[i].parents) {
        if (job.tasks[parent].state != TaskState::kSucceeded) problem = "leased before its parent";
      }
    });
    return problem;
  }
  return "";
}

void NaiveModel::Do(const JobAccepted& record) {
  NaiveJob& job = jobs_[record.job];
  job.requests = record.plan.requests;
  job.policy = record.plan.policy;
  job.open = record.plan.open;
  job.user = record.plan.user;
  job.after = record.plan.after;
  AddRuns(job, record.plan.runs);
  for (NaiveTask& task : job.tasks) task.pairs = true;
}

void NaiveModel::Do(const JobGrown& record) {
  NaiveJob& job = jobs_[record.job];
  job.requests.insert(job.requests.end(), record.new_requests.begin(), record.new_requests.end());
  size_t before = job.tasks.size();
  AddRuns(job, record.runs);
  for (size_t i = before; i < job.tasks.size(); ++i) job.tasks[i].pairs = HasPairs(job);
  if (job.finished && job.held == HoldReason::kAllFail) job.held = HoldReason::kNone;
  job.finished = false;
  job.cancelled = false;
}

void NaiveModel::Do(const TasksLinked& record) {
  NaiveJob& job = jobs_[record.job];
  for (const Edge& edge : record.edges) {
    NaiveTask& child = job.tasks.at(edge.child);
    child.parents.push_back(edge.parent);
    child.pairs |= !HasRun(job, edge.parent);
  }
}

void NaiveModel::Do(const JobSealed& record) { jobs_[record.job].open = false; }

void NaiveModel::Do(const PolicyChanged& record) { jobs_[record.job].policy = record.policy; }

void NaiveModel::Do(const TasksWithdrawn& record) {
  ForEach(record.tasks, [&](TaskIndex i) {
    NaiveTask& task = jobs_[record.job].tasks[i];
    task.left_list = record.left_list;
    if (task.state != TaskState::kSucceeded) task.state = TaskState::kCancelled;
  });
}

void NaiveModel::Do(const TasksCancelled& record) {
  ForEach(record.tasks, [&](TaskIndex i) { jobs_[record.job].tasks[i].cancelled = true; });
}

// They run again, and what waits for them, here or in other jobs, is looked at once more, unless it
// has been given out.
void NaiveModel::ForgetSuccess(const TasksReopened& record) {
  NaiveJob& job = jobs_[record.job];
  ForEach(record.tasks, [&](TaskIndex i) {
    for (auto& [id, other] : jobs_) {
      const bool waits = std::ranges::any_of(other.after, [&](const After& after) {
        return after.job == record.job && after.kind == AfterKind::kEach;
      });
      if (!waits || i >= other.tasks.size()) continue;
      NaiveTask& pair = other.tasks[i];
      if (pair.state == TaskState::kQueued) pair.pairs = true;
      if (pair.state == TaskState::kLeased) pair.pairs = false;
    }
    NaiveTask& task = job.tasks[i];
    if (task.state != TaskState::kSucceeded) return;
    task.state = TaskState::kCancelled;
    task.attempt = job.last_success;
    for (NaiveTask& child : job.tasks) {
      if (child.state == TaskState::kQueued && std::ranges::count(child.parents, i) > 0) {
        child.pairs = true;
      }
    }
  });
}

void NaiveModel::Do(const TasksReopened& record) {
  if (record.succeeded) ForgetSuccess(record);
  NaiveJob& job = jobs_[record.job];
  job.finished = false;
  job.cancelled = false;
  job.after.insert(job.after.end(), record.after.begin(), record.after.end());
  const bool each = std::ranges::any_of(
      record.after, [](const After& after) { return after.kind == AfterKind::kEach; });
  ForEach(record.tasks, [&](TaskIndex i) {
    NaiveTask& task = job.tasks[i];
    task.left_list = false;
    if (task.state == TaskState::kSucceeded) return;
    // It is looked at once more where its parents end.
    const bool pairs = each || WaitsForParents(job, task);
    task = NaiveTask{.request = task.request,
                     .attempt = task.attempt,
                     .pairs = pairs,
                     .parents = std::move(task.parents)};
  });
}

void NaiveModel::Do(const NeedsChanged& record) {
  NaiveJob& job = jobs_[record.job];
  job.requests.insert(job.requests.end(), record.new_requests.begin(), record.new_requests.end());
  for (const RequestRun& run : record.runs) {
    ForEach({{run.first, run.count}}, [&](TaskIndex i) { job.tasks[i].request = run.request; });
  }
}

void NaiveModel::Do(const JobHeld& record) { jobs_[record.job].held = record.reason; }

void NaiveModel::Do(const JobReleased& record) { jobs_[record.job].held = HoldReason::kNone; }

void NaiveModel::Do(const JobSteered& record) {
  NaiveJob& job = jobs_[record.job];
  const bool stop = record.what == Steering::kStop;
  if (!stop && record.what != Steering::kContinue) return;
  if (record.tasks.empty()) job.stopped = stop;
  if (record.tasks.empty() && !stop) {
    for (NaiveTask& task : job.tasks) task.stopped = false;
  }
  ForEach(record.tasks, [&](TaskIndex i) { job.tasks[i].stopped = stop; });
}

// Leased tasks never hold less than they may use.
std::string NaiveModel::CheckResized(const TasksResized& record, const NaiveJob& job) const {
  if (record.stage == ResizeStage::kQueued) {
    if (record.tasks.empty()) return "";  // the whole job
    return CheckTasks(record.job, record.tasks, TaskState::kQueued);
  }
  std::string problem = CheckTasks(record.job, record.tasks, TaskState::kLeased);
  if (!problem.empty()) return problem;
  const TaskIndex index = record.tasks.front().first;
  const NaiveTask& task = job.tasks[index];
  auto held = held_.find(record.node);
  if (held == held_.end() || !held->second.contains({record.job, index, record.attempt})) {
    return "resized on a node that does not have it";
  }
  if (task.resizes == (record.stage == ResizeStage::kOrdered)) return "resized out of turn";
  const Needs& before = job.requests[task.held].needs;
  const Needs& now = job.requests[record.request].needs;
  const Needs& wanted = job.requests[task.request].needs;
  if (record.stage != ResizeStage::kOrdered) {
    if (record.stage == ResizeStage::kDone && record.request != task.request) {
      return "it has another request than was confirmed";
    }
    const bool is_less = now.milli_cpus <= before.milli_cpus && now.memory <= before.memory;
    return is_less ? "" : "more than was held until a change was confirmed";
  }
  const bool is_both = now.milli_cpus == std::max(before.milli_cpus, wanted.milli_cpus) &&
                       now.memory == std::max(before.memory, wanted.memory);
  return is_both ? "" : "not both requests are held until the node has confirmed";
}

void NaiveModel::Do(const TasksResized& record) {
  if (record.stage == ResizeStage::kQueued) return;
  NaiveTask& task = jobs_[record.job].tasks[record.tasks.front().first];
  if (record.stage == ResizeStage::kOrdered) task.before = task.held;
  task.held = record.request;
  task.resizes = record.stage == ResizeStage::kOrdered;
}

void NaiveModel::Do(const Leased& record) {
  ForEach(record.tasks, [&](TaskIndex i) {
    NaiveTask& task = jobs_[record.job].tasks[i];
    task.held = task.request;
    task.resizes = false;
    task.state = TaskState::kLeased;
    task.attempt = record.attempt.value;
    held_[record.node].insert({record.job, i, record.attempt});
    given_.insert({record.job, i, record.attempt});
  });
}

void NaiveModel::Do(const Returned& record) {
  ForEach(record.tasks, [&](TaskIndex i) {
    NaiveJob& job = jobs_[record.job];
    bool cancelled = job.cancelled || job.tasks[i].cancelled;
    job.tasks[i].state = cancelled ? TaskState::kCancelled : TaskState::kQueued;
    held_[record.node].erase({record.job, i, record.attempt});
  });
}

void NaiveModel::Do(const AttemptEnded& record) {
  NaiveJob& job = jobs_[record.end.ref.job];
  NaiveTask& task = job.tasks[record.end.ref.index];
  held_[record.node].erase(record.end.ref);
  if (record.end.cause == Cause::kStart && !record.counts) {
    no_start_.insert({record.node, record.end.ref.job});
  }
  constexpr TaskState kStates[] = {TaskState::kSucceeded, TaskState::kQueued, TaskState::kFailed,
                                   TaskState::kUnknown, TaskState::kCancelled};
  task.state = kStates[static_cast<size_t>(record.verdict)];
  if (task.state != TaskState::kQueued) task.stopped = false;
  if (record.counts) ++task.tries;
  if (IsCutOff(record.end) && record.end.wall.ns > 0) {
    ++task.cut_offs;
    task.cut_after = std::max(task.cut_after, record.end.wall);
  }
  Cause cause = record.end.cause;
  if (cause == Cause::kSuccess) {
    job.walls[task.request].push_back(record.end.wall);
    job.last_success = std::max(job.last_success, task.attempt);
  }
  if (cause == Cause::kNode) {
    ++task.losses;
  } else if (cause == Cause::kStart && !record.counts) {
    ++task.no_starts;
  } else if (cause != Cause::kStopped && !record.counts) {
    ++task.elsewhere;
  }
  task.due = record.counts ? record.ended + job.policy.retry.delay : Instant{};
}

void NaiveModel::Do(const JobCancelled& record) {
  NaiveJob& job = jobs_[record.job];
  job.cancelled = true;
  job.open = false;
  job.held = HoldReason::kNone;
  job.stopped = false;
  job.after.clear();
  for (NaiveTask& task : job.tasks) {
    if (task.state == TaskState::kQueued) task.state = TaskState::kCancelled;
  }
}

void NaiveModel::Do(const DependencyMet& record) {
  NaiveJob& job = jobs_[record.job];
  std::erase_if(job.after, [&](const After& a) { return a.job == record.on; });
  if (HasPairs(job)) return;
  // If the job waits again, for another try of its counterparts, it is not for these.
  for (NaiveTask& task : job.tasks) task.pairs = WaitsForParents(job, task);
}

void NaiveModel::Do(const UserChanged& record) { users_[record.user] = record.rule; }

void NaiveModel::Do(const NodeDrained& record) { drained_.insert(record.node); }

void NaiveModel::Do(const NodeUndrained& record) { drained_.erase(record.node); }

void NaiveModel::Do(const NodeRemoved& record) {
  drained_.erase(record.node);
  blames_.erase(record.node);
  std::erase_if(sick_, [&](const auto& each) { return each.first == record.node; });
}

void NaiveModel::Do(const NodeSick& record) { sick_.insert({record.node, record.job}); }

void NaiveModel::Do(const NodeCleared& record) {
  std::erase_if(sick_, [&](const auto& each) {
    bool node = record.node == NodeId() || record.node == each.first;
    return node && (record.job == JobId() || record.job == each.second);
  });
  if (record.job != JobId()) return;
  std::erase_if(blames_, [&](const auto& each) {
    return record.node == NodeId() || record.node == each.first;
  });
}

void NaiveModel::Do(const NodeBlamed& record) { blames_[record.node] = record.blames; }

bool NaiveModel::IsBlamed(NodeId node, JobId by) const {
  auto known = blames_.find(node);
  return known != blames_.end() &&
         std::ranges::any_of(known->second, [by](const Blame& blame) { return blame.by == by; });
}

// A job's end leaves what it had set aside, its going on takes that back, and so does a success on
// the node.
std::string NaiveModel::CheckBlames(const Record& record) const {
  if (const auto* blamed = std::get_if<NodeBlamed>(&record)) {
    auto known = blames_.find(blamed->node);
    const bool same =
        blamed->blames == (known == blames_.end() ? std::vector<Blame>() : known->second);
    return same ? "a record of what is remembered of a node, and nothing has changed" : "";
  }
  if (const auto* ended = std::get_if<AttemptEnded>(&record)) {
    auto known = blames_.find(ended->node);
    const bool blamed = known != blames_.end() && !known->second.empty();
    return ended->end.cause == Cause::kSuccess && blamed ? "a success on a node that is blamed"
                                                         : "";
  }
  if (const auto* finished = std::get_if<JobFinished>(&record)) {
    for (const auto& [node, job] : sick_) {
      if (job == finished->job && !IsBlamed(node, job)) return "a blame is forgotten at the end";
    }
    return "";
  }
  const auto* grown = std::get_if<JobGrown>(&record);
  const auto* reopened = std::get_if<TasksReopened>(&record);
  if (grown == nullptr && reopened == nullptr) return "";
  const JobId job = grown != nullptr ? grown->job : reopened->job;
  for (const auto& [node, blames] : blames_) {
    if (IsBlamed(node, job)) return "a job that goes on is remembered as one that has ended";
  }
  return "";
}

void NaiveModel::Do(const JobFinished& record) {
  jobs_[record.job].finished = true;
  jobs_[record.job].stopped = false;
  jobs_[record.job].after.clear();
  std::erase_if(sick_, [&](const auto& each) { return each.second == record.job; });
}

double NaiveModel::Load(NodeId node, const AttemptRef& changed) const {
  auto held = held_.find(node);
  auto at = offers_.find(node);
  if (held == held_.end() || at == offers_.end()) return 0;
  const Offer& offer = at->second;
  std::map<std::string, double> parts;
  for (const AttemptRef& ref : held->second) {
    const NaiveJob& job = jobs_.at(ref.job);
    const NaiveTask& task = job.tasks[ref.index];
    const bool as_before = task.resizes && ref != changed;
    const Needs& needs = job.requests[as_before ? task.before : task.held].needs;
    parts["slots"] += 1.0 / offer.slots;
    parts["cpus"] += 1.0 * needs.milli_cpus / offer.milli_cpus;
    if (offer.memory > 0) parts["memory"] += 1.0 * needs.memory / offer.memory;
    for (const NamedNeed& need : needs.named) {
      for (const NamedOffer& named : offer.named) {
        if (named.name == need.name) parts[need.name] += 1.0 * need.count / named.indices.size();
      }
    }
  }
  double load = 0;
  for (const auto& [kind, part] : parts) load = std::max(load, part);
  return load;
}

// ---- Demand

uint32_t NaiveModel::RunningOf(const std::string& user) const {
  uint32_t running = 0;
  for (const auto& [node, refs] : held_) {
    for (const AttemptRef& ref : refs) running += jobs_.at(ref.job).user == user;
  }
  return running;
}

bool NaiveModel::IsReady(const NaiveJob& job, TaskIndex index, Instant now) const {
  const NaiveTask& task = job.tasks[index];
  if (task.state != TaskState::kQueued || task.stopped) return false;
  if (job.policy.retry.delay > Duration::Seconds(60) && task.due > now) return false;
  for (TaskIndex parent : task.parents) {
    if (job.tasks[parent].state != TaskState::kSucceeded) return false;
  }
  for (const After& after : job.after) {
    if (after.kind != AfterKind::kEach) return false;
    if (!task.pairs) continue;
    auto other = jobs_.find(after.job);
    if (other == jobs_.end() || index >= other->second.tasks.size()) return false;
    if (other->second.tasks[index].state != TaskState::kSucceeded) return false;
  }
  return true;
}

std::map<ClassKey, ClassDemand> NaiveModel::Demand(Instant now) const {
  std::map<ClassKey, ClassDemand> demand;
  std::map<std::pair<std::string, Needs>, uint64_t> rooms;
  for (const auto& [id, job] : jobs_) {
    bool runnable =
        job.held == HoldReason::kNone && !job.finished && !job.cancelled && !job.stopped;
    auto user = users_.find(job.user);
    uint32_t most = user == users_.end() ? 0 : user->second.max_running;
    for (uint32_t request = 0; request < job.requests.size(); ++request) {
      const Needs& needs = job.requests[request].needs;
      ClassDemand each{.key = {id, request}, .user = job.user, .needs = needs};
      for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
        const bool leased = job.tasks[i].state == TaskState::kLeased;
        each.running += leased && job.tasks[i].held == request;
        if (job.tasks[i].request != request) continue;
        each.ready += runnable && IsReady(job, i, now);
      }
      if (uint32_t bound = job.policy.max_running; bound > 0) {
        each.ready = std::min(each.ready, bound - std::min(bound, job.Counts().leased));
      }
      uint64_t all = most == 0 ? UINT64_MAX : most - std::min(most, RunningOf(job.user));
      all = std::min(all, GroupRoomOf(job.user));
      uint64_t& room = rooms.try_emplace({job.user, needs}, all).first->second;
      each.ready = static_cast<uint32_t>(std::min<uint64_t>(each.ready, room));
      room -= each.ready;
      if (each.ready > 0) demand[each.key] = each;
    }
  }
  return demand;
}

std::string NaiveModel::WhyNotTakes(const ClassKey& key, Duration takes) const {
  const NaiveJob& job = jobs_.at(key.job);
  auto walls = job.walls.find(key.request);
  if (walls == job.walls.end()) return takes.ns == 0 ? "" : "a time without an end";
  auto [least, most] = std::ranges::minmax(walls->second);
  return least <= takes && takes <= most ? "" : "a time that no task took";
}

}  // namespace spate::engine
