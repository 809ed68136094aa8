#include "sim/uploads.h"

#include <fmt/format.h>

#include <span>
#include <utility>

namespace spate::sim {

Requests Uploads::Submission(const SimJob& job, bool deadlines) {
  if (!deadlines) hopeless_.insert(job.id);
  return Messages(job, Head(job), 0, job.totals.front());
}

Requests Uploads::Addition(const SimJob& job, uint32_t from, uint32_t total) {
  wire::Submit head = Head(job);
  head.add_to = job.id;
  head.submission += fmt::format(" from {}", from);
  return Messages(job, std::move(head), from, total - from);
}

wire::Submit Uploads::Head(const SimJob& job) const {
  wire::Submit head;
  head.submission = fmt::format("job {}", job.id.value);
  head.settings = job.settings;
  head.policy = job.policy;
  head.priority = job.priority;
  head.open = job.open;
  for (const After& after : job.after) {
    head.after.push_back({after.job, static_cast<uint32_t>(after.kind)});
  }
  if (sabotage_ == Sabotage::kForgetPolicy) {
    head.policy.retry.retries += 3;
    head.policy.retry.once = false;
  }
  if (sabotage_ == Sabotage::kForgetOrder) head.after.clear();
  if (sabotage_ == Sabotage::kForgetBlame) head.policy.retry.retries = 0;
  if (sabotage_ == Sabotage::kForgetBounds) head.policy.max_running = 0;
  return head;
}

std::vector<TaskClass> Uploads::RequestsOf(const SimJob& job) const {
  std::vector<TaskClass> requests = job.requests;
  for (TaskClass& each : requests) {
    if (hopeless_.contains(job.id)) each.deadline.reset();
    if (each.deadline && sabotage_ == Sabotage::kLateDeadlines) {
      each.deadline = *each.deadline + Duration::Seconds(3600);
    }
    if (sabotage_ == Sabotage::kShortTimes) each.needs.time = each.needs.time / 2;
  }
  return requests;
}

Requests Uploads::Messages(const SimJob& job, wire::Submit head, TaskIndex first, uint32_t count) {
  Requests requests;
  requests.emplace_back(std::move(head));
  for (TaskIndex i = first; i < first + count;) {
    wire::Rows rows;
    uint64_t most = 1 + prng_.Below(count);
    while (i < first + count && rows.rows.size() < most) {
      rows.rows.push_back(workload_.RowOf(job.id, i++));
    }
    requests.emplace_back(std::move(rows));
  }
  std::vector<Edge> edges = workload_.EdgesOf(job, first, count);
  if (sabotage_ == Sabotage::kForgetEdges) edges.clear();
  for (std::span<const Edge> left = edges; !left.empty();) {
    auto some = left.first(1 + prng_.Below(left.size()));
    requests.emplace_back(wire::Edges{{some.begin(), some.end()}});
    left = left.subspan(some.size());
  }
  wire::SubmitEnd end{count, RequestsOf(job), workload_.RunsOf(job, first, count), {}, first};
  for (RequestRun& run : end.runs) run.first -= first;
  if (first == 0) end.order = workload_.PlanOf(job).order;
  requests.emplace_back(std::move(end));
  return requests;
}

Requests Uploads::Mischief() {
  const auto& jobs = workload_.jobs();
  const SimJob& victim = jobs[prng_.Below(jobs.size())];
  wire::Submit head = Head(victim);
  const auto count = static_cast<uint32_t>(1 + prng_.Below(50));
  wire::Rows rows{std::vector<std::string>(count, "run 1.0")};
  wire::SubmitEnd end{count, {Needs()}, {{0, count, 0}}, {}};
  if (prng_.Chance(20)) {  // a circle, or an edge to nowhere
    TaskIndex other = static_cast<TaskIndex>(prng_.Below(count + 1));
    return {head, rows, wire::Edges{{{other, 0}, {0, other}}}, end};
  }
  switch (prng_.Below(7)) {
    case 0:  // tasks for another user's job
      head.add_to = victim.id;
      return {head, rows, end};
    case 1:  // waits for each task of another user's job
      head.after = {{victim.id, static_cast<uint32_t>(AfterKind::kEach)}};
      return {head, rows, end};
    case 2:  // waits for a job that nobody knows
      head.after = {{JobId(kOtherJobs - 1), static_cast<uint32_t>(AfterKind::kAny)}};
      return {head, rows, end};
    case 3:  // tasks without rows
      end.count = end.runs.front().count = count + 1;
      return {head, rows, end};
    case 4:  // never ends
      return {head, rows, rows, rows};
    case 5:
      return {rows};
    default:
      return {wire::ReadEnds{victim.id, 0}, wire::Watch{victim.id}, head, wire::Watch{victim.id}};
  }
}

}  // namespace spate::sim
