#include "doors/simulate/job_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

constexpr int64_t kSecond = 1'000'000;  // microseconds

int64_t Micros(Instant at) { return at.ns / 1'000; }

uint64_t WholeCpus(const Needs& needs) {
  return std::max<uint64_t>(1, (uint64_t{needs.milli_cpus} + kMilliCpu - 1) / kMilliCpu);
}

// How many processors it takes; nullopt: the machine is too small for it.
std::optional<uint32_t> ProcessorsOf(const TaskClass& request, const HistoryMachine& machine) {
  const uint64_t each = WholeCpus(request.needs);
  const GangShape& gang = request.gang;
  if (each > machine.cpus) return std::nullopt;
  if (gang.empty()) return static_cast<uint32_t>(each);
  const uint64_t on_node = machine.cpus / each;  // processes
  if (gang.procs > on_node * machine.nodes) return std::nullopt;
  if (gang.nodes == 0) return static_cast<uint32_t>(gang.procs * each);
  if (gang.nodes > machine.nodes || gang.procs_per_node() > on_node) return std::nullopt;
  return gang.whole ? gang.nodes * machine.cpus : static_cast<uint32_t>(gang.procs * each);
}

int64_t InWholeSeconds(int64_t micros) { return (micros + kSecond - 1) / kSecond * kSecond; }

}  // namespace

void JobHistory::AddJob(JobId job, std::string_view user, Instant created) {
  auto found = users_.find(user);
  if (found == users_.end()) {
    found = users_.emplace(user, static_cast<int64_t>(users_.size())).first;
  }
  Job& added = jobs_[job];
  added.user = found->second;
  added.created_us = Micros(created);
}

JobHistory::Job* JobHistory::Find(JobId job) {
  auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

Status JobHistory::Apply(const engine::Record& record) {
  if (const auto* accepted = std::get_if<engine::JobAccepted>(&record)) {
    Job* job = Find(accepted->job);
    if (job == nullptr) return {};
    const JobPlan& plan = accepted->plan;
    return Grow(*job, plan.task_count, plan.requests, plan.runs);
  }
  if (const auto* grown = std::get_if<engine::JobGrown>(&record)) {
    Job* job = Find(grown->job);
    return job == nullptr ? Status() : Grow(*job, grown->count, grown->new_requests, grown->runs);
  }
  if (const auto* changed = std::get_if<engine::NeedsChanged>(&record)) {
    if (Job* job = Find(changed->job)) Assign(*job, changed->new_requests, changed->runs);
  } else if (const auto* linked = std::get_if<engine::TasksLinked>(&record)) {
    Job* job = Find(linked->job);
    if (job != nullptr) {
      job->edges.insert(job->edges.end(), linked->edges.begin(), linked->edges.end());
    }
  }
  return {};
}

// No record says when tasks came that were added later; it was after the last end before it.
Status JobHistory::Grow(Job& job, uint32_t count, const std::vector<TaskClass>& requests,
                        const std::vector<RequestRun>& runs) {
  tasks_ += count;
  if (tasks_ > format::kSwfJobs) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the history has more than {} tasks; forget old jobs, or copy the "
                            "folder and forget them there",
                            FormatCount(format::kSwfJobs)));
  }
  job.tasks.resize(job.tasks.size() + count,
                   Task{.ready_us = std::max(job.created_us, job.last_end_us)});
  Assign(job, requests, runs);
  return {};
}

void JobHistory::Assign(Job& job, const std::vector<TaskClass>& requests,
                        const std::vector<RequestRun>& runs) {
  job.requests.insert(job.requests.end(), requests.begin(), requests.end());
  for (const RequestRun& run : runs) {
    const uint64_t end = std::min<uint64_t>(uint64_t{run.first} + run.count, job.tasks.size());
    for (uint64_t index = run.first; index < end; ++index) job.tasks[index].request = run.request;
  }
}

// Parts of a gang come one by one, under the same attempt.
Status JobHistory::AcceptEnd(const engine::AttemptEnded& ended) {
  const AttemptEnd& end = ended.end;
  Job* job = Find(end.ref.job);
  if (job == nullptr || end.ref.index >= job->tasks.size()) return {};
  Task& task = job->tasks[end.ref.index];
  if (task.attempt != end.ref.attempt.value) {
    task.ready_us = std::max(task.ready_us, task.end_us);
    task.attempt = end.ref.attempt.value;
    task.start_us = task.end_us = 0;
  }
  if (end.start.ns > 0) {
    const int64_t start = Micros(end.start);
    task.start_us = task.start_us == 0 ? start : std::min(task.start_us, start);
    task.end_us = std::max(task.end_us, start + end.wall.micros());
    job->last_end_us = std::max(job->last_end_us, task.end_us);
  }
  task.ended = ended.verdict != Verdict::kRetry && ended.verdict != Verdict::kPart;
  return {};
}

void JobHistory::WaitForParents(Job& job) {
  for (const Edge& edge : job.edges) {
    if (edge.parent >= job.tasks.size() || edge.child >= job.tasks.size()) continue;
    Task& child = job.tasks[edge.child];
    child.ready_us = std::max(child.ready_us, job.tasks[edge.parent].end_us);
  }
}

// For each request, the requested time, else the median of the measured ones.
std::vector<int64_t> JobHistory::EstimatesOf(const Job& job) {
  std::vector<std::vector<int64_t>> walls(job.requests.size());
  for (const Task& task : job.tasks) {
    if (!task.ended || task.start_us == 0 || task.request >= walls.size()) continue;
    walls[task.request].push_back(task.end_us - task.start_us);
  }
  std::vector<int64_t> estimates;
  for (size_t i = 0; i < walls.size(); ++i) {
    int64_t estimate = job.requests[i].needs.time.micros();
    if (estimate <= 0 && !walls[i].empty()) {
      auto middle = walls[i].begin() + static_cast<ptrdiff_t>(walls[i].size() / 2);
      std::nth_element(walls[i].begin(), middle, walls[i].end());
      estimate = *middle;
    }
    estimates.push_back(std::max(kSecond, InWholeSeconds(estimate)));
  }
  return estimates;
}

void JobHistory::AddTasks(JobId id, Job& job, const HistoryMachine& machine,
                          format::Workload& workload) {
  auto drop = [&](format::SwfDrop why) { ++workload.dropped[static_cast<size_t>(why)]; };
  const std::vector<int64_t> estimates = EstimatesOf(job);
  std::vector<std::optional<uint32_t>> processors;
  for (const TaskClass& request : job.requests) {
    processors.push_back(ProcessorsOf(request, machine));
  }
  for (size_t index = 0; index < job.tasks.size(); ++index) {
    const Task& task = job.tasks[index];
    if (!task.ended || task.start_us == 0 || task.request >= processors.size()) {
      drop(format::SwfDrop::kNoRunTime);
    } else if (!processors[task.request]) {
      drop(format::SwfDrop::kTooLarge);
    } else {
      workload.jobs.push_back(
          {.number = (int64_t{id.value} << kTaskBits) + static_cast<int64_t>(index) + 1,
           .submit = std::min(task.ready_us, task.start_us),
           .run = std::max<int64_t>(1, task.end_us - task.start_us),
           .processors = *processors[task.request],
           .estimate = estimates[task.request],
           .user = job.user,
           .request = task.request});
    }
  }
  for (size_t i = 0; i < estimates.size(); ++i) {
    job.requests[i].needs.time = Duration::Micros(estimates[i]);
  }
  requests_[id] = std::move(job.requests);
}

Result<format::Workload> JobHistory::WorkloadOn(const HistoryMachine& machine) {
  const uint64_t processors = uint64_t{machine.nodes} * machine.cpus;
  if (processors > format::kSwfProcessors) {
    return Fail(ErrorKind::kInvalid, fmt::format("a machine of {} nodes with {} cpus is too large",
                                                 machine.nodes, machine.cpus));
  }
  format::Workload workload{
      .processors = static_cast<uint32_t>(processors), .second = kSecond, .jobs = {}};
  for (auto& [id, job] : jobs_) {
    WaitForParents(job);
    AddTasks(id, job, machine, workload);
    job = Job();  // its memory is not needed any more
  }
  if (workload.jobs.empty()) {
    const uint64_t large = workload.dropped[static_cast<size_t>(format::SwfDrop::kTooLarge)];
    if (large == 0) return Fail(ErrorKind::kNotFound, "no task has ended yet");
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("no task fits {} with {} each: {} that ended is larger",
                    present::CountOf(machine.nodes, "node"), present::CountOf(machine.cpus, "cpu"),
                    large == 1 ? "the task" : "each task"));
  }
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const auto& a, const auto& b) { return a.submit < b.submit; });
  const int64_t first = workload.jobs.front().submit;
  for (format::RigidJob& job : workload.jobs) job.submit -= first;
  return workload;
}

}  // namespace spate::cli
