#include "sim/task_book.h"

#include <utility>

namespace spate::sim {

const TaskClass& BookedJob::ClassOf(TaskIndex index) const {
  for (const RequestRun& run : runs) {
    if (index >= run.first && index < run.first + run.count) return requests[run.request];
  }
  return requests.front();
}

JobCounts BookedJob::Counts() const {
  JobCounts counts;
  for (const BookedTask& task : tasks) {
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

bool TaskBook::Enter(const engine::Record& record) {
  return std::visit([this](const auto& each) { return Apply(each); }, record);
}

BookedJob* TaskBook::FindJob(JobId id) {
  auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

BookedTask* TaskBook::Find(const AttemptRef& ref) {
  BookedJob* job = FindJob(ref.job);
  return job == nullptr || ref.index >= job->tasks.size() ? nullptr : &job->tasks[ref.index];
}

bool TaskBook::Apply(const engine::JobAccepted& record) {
  BookedJob job;
  job.tasks.resize(record.plan.task_count);
  job.requests = record.plan.requests;
  job.runs = record.plan.runs;
  job.policy = record.plan.policy;
  job.open = record.plan.open;
  return jobs_.emplace(record.job, std::move(job)).second;
}

bool TaskBook::Apply(const engine::JobGrown& record) {
  BookedJob* job = FindJob(record.job);
  if (job == nullptr) return false;
  job->tasks.resize(job->tasks.size() + record.count);
  job->requests.insert(job->requests.end(), record.new_requests.begin(), record.new_requests.end());
  job->runs.insert(job->runs.end(), record.runs.begin(), record.runs.end());
  job->finished = job->cancelled = false;
  return true;
}

bool TaskBook::Apply(const engine::NeedsChanged& record) {
  BookedJob* job = FindJob(record.job);
  if (job == nullptr) return false;
  job->requests.insert(job->requests.end(), record.new_requests.begin(), record.new_requests.end());
  // ClassOf takes the first that has the task.
  job->runs.insert(job->runs.begin(), record.runs.begin(), record.runs.end());
  return true;
}

bool TaskBook::Apply(const engine::JobSealed& record) {
  BookedJob* job = FindJob(record.job);
  if (job != nullptr) job->open = false;
  return job != nullptr;
}

bool TaskBook::Apply(const engine::PolicyChanged& record) {
  BookedJob* job = FindJob(record.job);
  if (job != nullptr) job->policy = record.policy;
  return job != nullptr;
}

bool TaskBook::Apply(const engine::TasksWithdrawn& record) {
  for (TaskRange range : record.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      BookedTask* task = Find({record.job, i, {}});
      if (task == nullptr) return false;
      if (record.left_list && task->state != TaskState::kSucceeded) {
        task->state = TaskState::kCancelled;
      }
      task->left_list = record.left_list;
      if (task->state == TaskState::kQueued) task->state = TaskState::kCancelled;
    }
  }
  return true;
}

bool TaskBook::Apply(const engine::TasksLinked& record) {
  BookedJob* job = FindJob(record.job);
  if (job == nullptr) return false;
  for (const Edge& edge : record.edges) {
    if (edge.parent >= job->tasks.size() || edge.child >= job->tasks.size()) return false;
    job->parents[edge.child].push_back(edge.parent);
  }
  return true;
}

bool TaskBook::Apply(const engine::TasksCancelled& record) {
  for (TaskRange range : record.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      BookedTask* task = Find({record.job, i, {}});
      if (task == nullptr || task->state != TaskState::kLeased) return false;
      task->cancelled = true;
    }
  }
  return true;
}

bool TaskBook::Apply(const engine::TasksReopened& record) {
  BookedJob* job = FindJob(record.job);
  if (job == nullptr) return false;
  for (TaskRange range : record.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      BookedTask* task = Find({record.job, i, {}});
      if (task == nullptr) return false;
      if (std::exchange(task->left_list, false)) job->finished = job->cancelled = false;
      const bool done = task->state == TaskState::kSucceeded;
      if (!IsFinal(task->state) || (done && !record.succeeded)) continue;
      if (done) task->attempt = job->last_success;
      job->stopped_tasks.erase(i);
      *task = {.attempt = task->attempt, .node = task->node, .reopened = task->reopened + 1};
      job->finished = job->cancelled = false;
    }
  }
  return true;
}

bool TaskBook::Apply(const engine::JobHeld& record) {
  BookedJob* job = FindJob(record.job);
  if (job != nullptr) job->held = true;
  return job != nullptr;
}

bool TaskBook::Apply(const engine::JobReleased& record) {
  BookedJob* job = FindJob(record.job);
  if (job != nullptr) job->held = false;
  return job != nullptr;
}

bool TaskBook::Apply(const engine::JobSteered& record) {
  BookedJob* job = FindJob(record.job);
  if (job == nullptr) return false;
  const bool stop = record.what == Steering::kStop;
  if (!stop && record.what != Steering::kContinue) return true;
  if (record.tasks.empty()) job->stopped = stop;
  if (record.tasks.empty() && !stop) job->stopped_tasks.clear();
  for (TaskRange range : record.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      const BookedTask* task = Find({record.job, i, {}});
      if (task == nullptr || (stop && IsFinal(task->state))) return false;
      stop ? static_cast<void>(job->stopped_tasks.insert(i))
           : static_cast<void>(job->stopped_tasks.erase(i));
    }
  }
  return true;
}

bool TaskBook::Apply(const engine::Leased& record) {
  for (TaskRange range : record.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      BookedTask* task = Find({record.job, i, {}});
      if (task == nullptr || task->state != TaskState::kQueued) return false;
      if (record.attempt.value != task->attempt.value + 1) return false;
      const BookedJob& job = *FindJob(record.job);
      if (job.stopped || job.stopped_tasks.contains(i)) return false;
      task->state = TaskState::kLeased;
      task->attempt = record.attempt;
      task->node = record.node;
      task->given_back = false;
    }
  }
  return true;
}

bool TaskBook::Apply(const engine::GangLeased& record) {
  if (record.parts.empty()) return false;
  const NodeId first = record.parts.front().node;
  if (!Apply(engine::Leased{first, record.job, record.attempt, {{record.index, 1}}})) return false;
  BookedTask& task = *Find({record.job, record.index, {}});
  task.gang = record.parts;
  for (const engine::GangLeased::Part& part : record.parts) task.parts_left.insert(part.node);
  return task.parts_left.size() == record.parts.size();
}

bool TaskBook::Apply(const engine::Returned& record) {
  for (TaskRange range : record.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      BookedTask* task = Find({record.job, i, {}});
      if (task == nullptr || task->state != TaskState::kLeased) return false;
      if (record.attempt != task->attempt || record.node != task->node) return false;
      if (!task->gang.empty()) return false;  // its parts end, each with a row
      bool cancelled = task->cancelled || FindJob(record.job)->cancelled;
      task->state = cancelled ? TaskState::kCancelled : TaskState::kQueued;
      task->given_back = true;
    }
  }
  return true;
}

bool TaskBook::Apply(const engine::AttemptEnded& record) {
  BookedTask* task = Find(record.end.ref);
  if (task == nullptr || task->state != TaskState::kLeased) return false;
  if (!task->IsLeased(record.end.ref.attempt, record.node)) return false;
  task->parts_left.erase(record.node);
  if ((record.verdict == engine::Verdict::kPart) != !task->parts_left.empty()) return false;
  switch (record.verdict) {
    case engine::Verdict::kSucceeded:
      task->state = TaskState::kSucceeded;
      FindJob(record.end.ref.job)->last_success =
          std::max(FindJob(record.end.ref.job)->last_success, record.end.ref.attempt);
      break;
    case engine::Verdict::kRetry:
      task->state = TaskState::kQueued;
      break;
    case engine::Verdict::kFailed:
      task->state = TaskState::kFailed;
      break;
    case engine::Verdict::kUnknown:
      task->state = TaskState::kUnknown;
      break;
    case engine::Verdict::kCancelled:
      task->state = TaskState::kCancelled;
      break;
    case engine::Verdict::kPart:
      break;
  }
  task->last_end = record;
  if (record.counts) ++task->tries;
  return true;
}

bool TaskBook::Apply(const engine::JobFinished& record) {
  BookedJob* job = FindJob(record.job);
  if (job == nullptr || job->open) return false;
  JobCounts counts = job->Counts();
  if (counts.queued + counts.leased > 0) return false;
  job->finished = true;
  job->held = false;
  job->stopped = false;
  job->stopped_tasks.clear();
  return counts == record.counts;
}

bool TaskBook::Apply(const engine::JobCancelled& record) {
  BookedJob* job = FindJob(record.job);
  if (job == nullptr) return false;
  job->open = false;
  job->cancelled = true;
  job->stopped = false;
  for (BookedTask& task : job->tasks) {
    if (task.state == TaskState::kQueued) task.state = TaskState::kCancelled;
  }
  return true;
}

}  // namespace spate::sim
