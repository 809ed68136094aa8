#include "doors/parasol/client/para_client.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/model/limits.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/client/unix_seconds.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "os/file.h"
#include "os/signals.h"
#include "wire/limits.h"
#include "wire/pieces.h"

namespace spate::parasol {
namespace {

constexpr int64_t kUsualPriority = 10;
constexpr size_t kRowsAtOnce = 16'384;
constexpr size_t kIdsAtOnce = 10'000;
// Not to ask again and again about a batch that has ended.
constexpr Duration kAfterEnd = Duration::Millis(10);

Needs NeedsOf(const BatchTask& task) {
  Needs needs;
  if (task.cpus > 0) {
    needs.milli_cpus =
        static_cast<uint32_t>(std::clamp(std::round(task.cpus * kMilliCpu), 1.0, 1e9));
  }
  needs.memory = task.memory;
  return needs;
}

void AddWork(const JobWork& work, BatchHub::State& state) {
  state.known = true;
  state.submitted = work.counts.total;
  state.failures_in_row = work.failures_in_row;
  state.sick = work.held == HoldReason::kAllFail;
  if (work.held == HoldReason::kUser) state.held = work.job;
  for (const TaskRange& range : work.unended) {
    uint64_t first = ParasolId(work.job, range.first);
    state.unended.push_back({first, first + range.count - 1});
  }
  for (const TaskRun& run : work.runs) {
    state.running.push_back({ParasolId(work.job, run.index), run.node, UnixSeconds(run.since)});
  }
  state.sick_nodes.clear();  // each piece has all of them
  for (const AvoidedNode& node : work.avoided) {
    state.sick_nodes.push_back({node.node, node.failures});
  }
}

JobSelector OnlyJob(JobId job) {
  JobSelector selector;
  selector.ranges.push_back({job.value, job.value, 1});
  return selector;
}

// Tasks that make the same request, one after the other.
class Requests {
 public:
  void Add(TaskIndex index, const Needs& needs) {
    auto [at, fresh] = numbers_.emplace(needs, static_cast<uint32_t>(end_.requests.size()));
    if (fresh) end_.requests.push_back(needs);
    if (!end_.runs.empty() && end_.runs.back().request == at->second) {
      ++end_.runs.back().count;
    } else {
      end_.runs.push_back({index, 1, at->second});
    }
    ++end_.count;
  }
  wire::SubmitEnd Take() {
    if (end_.requests.empty()) end_.requests.emplace_back();
    return std::move(end_);
  }

 private:
  std::map<Needs, uint32_t> numbers_;
  wire::SubmitEnd end_;
};

wire::Submit HeadOf(const std::string& name, const std::string& folder) {
  auto settings = std::make_shared<JobSettings>();
  settings->name = name;
  settings->cwd = folder;
  settings->row_kind = RowKind::kParasol;
  wire::Submit head;
  head.submission = BatchSubmission(name);
  head.settings = std::move(settings);
  head.argv = {"para", name};
  head.name = name;
  head.keep_output = kKeepOutput;
  return head;
}

}  // namespace

uint32_t WeightOfPriority(int64_t priority) {
  return static_cast<uint32_t>(
      std::max<int64_t>(1, kJobWeight * kUsualPriority / std::max<int64_t>(1, priority)));
}

int64_t PriorityOfWeight(uint32_t weight) {
  return std::max<int64_t>(1, kJobWeight * kUsualPriority / std::max(1u, weight));
}

Result<wire::Accepted> SubmitTasks(BatchLink& link, const std::string& folder,
                                   const NewTasks& tasks) {
  const size_t count = tasks.count;
  return link.Submit([&](client::HubCall& call) -> Status {
    wire::Submit head = HeadOf(link.state().name(), folder);
    if (tasks.known) head.known_tasks = static_cast<uint32_t>(*tasks.known);
    if (auto sent = call.Send(std::move(head)); !sent) return sent;
    Requests requests;
    wire::Rows rows;
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      BatchTask each = tasks.task(i);
      requests.Add(static_cast<TaskIndex>(i), NeedsOf(each));
      bytes += each.row.size();
      rows.rows.push_back(std::move(each.row));
      if (rows.rows.size() < kRowsAtOnce && bytes < wire::kPieceBytes && i + 1 < count) continue;
      if (auto sent = call.Send(std::exchange(rows, {})); !sent) return sent;
      bytes = 0;
    }
    return call.Send(requests.Take());
  });
}

Status TrustNodesOfBatch(BatchLink& link) {
  auto job = link.NeedJob();
  if (!job) return std::unexpected(std::move(job.error()));
  auto done = client::AskOne(link, wire::TrustNodes{*job});
  return done ? Status() : std::unexpected(std::move(done.error()));
}

BatchClient::BatchClient(client::HubSetting setting, ParaState state)
    : setting_(std::move(setting)), link_(*setting_.loop, setting_.target, std::move(state)) {
  setting_.loop->OnSignal(os::kSignalInt, [this] {
    link_.call().Interrupt();
    if (watch_) watch_->Interrupt();
  });
}

Result<std::unique_ptr<BatchClient>> BatchClient::Open(const ParaState& state) {
  auto setting = FindSiteSetting();
  if (!setting) return std::unexpected(std::move(setting.error()));
  return Of(std::move(*setting), state);
}

std::unique_ptr<BatchClient> BatchClient::Of(client::HubSetting setting, const ParaState& state) {
  return std::unique_ptr<BatchClient>(new BatchClient(std::move(setting), state));
}

Result<BatchClient::State> BatchClient::AskToReport() {
  auto own = AskAbout("");
  if (!own || job_ != JobId()) return own;
  std::string owner = OwnerOf(os::DirName(link_.results()));
  return owner.empty() ? own : AskAbout(owner);
}

Result<BatchClient::State> BatchClient::AskAbout(const std::string& owner) {
  State state;
  auto hub = client::AskOne(link_, wire::LookAtHub());
  if (!hub) return std::unexpected(std::move(hub.error()));
  state.everybody = hub->queued + hub->running;
  job_ = JobId();
  auto asked = client::Ask(
      link_,
      wire::LookAtWork{
          .submission = BatchSubmission(link_.state().name()), .user = owner, .tasks = true},
      [&](const JobWork& work) {
        job_ = work.job;
        AddWork(work, state);
      });
  if (!asked) return std::unexpected(std::move(asked.error()));
  return state;
}

Status BatchClient::CatchUp() { return CatchUpResults(link_); }

Result<std::vector<BatchClient::Submitted>> BatchClient::SubmittedFrom(uint64_t first) {
  std::vector<Submitted> submitted;
  if (job_ == JobId() || first >= kLimits.tasks_per_job) return submitted;
  auto from = static_cast<TaskIndex>(first);
  wire::ReadRows question{.tasks = {{job_, {{from, kLimits.tasks_per_job - from}}}},
                          .whole = RowKind::kParasol};
  auto asked = client::Ask(link_, question, [&](const wire::RowsRead& read) -> Status {
    for (const RowFacts& facts : read.rows) {
      auto row = ReadParasolRow(facts.row);
      if (!row) return std::unexpected(std::move(row.error()));
      submitted.push_back({ParasolId(job_, facts.index), row->job, row->submitted});
    }
    return {};
  });
  if (!asked) return std::unexpected(std::move(asked.error()));
  return submitted;
}

Result<uint64_t> BatchClient::Submit(std::span<const Submission> jobs, uint64_t known,
                                     const std::string& folder, int64_t now) {
  auto task_of = [&](size_t i) {
    const Submission& job = jobs[i];
    BatchTask task{.row = {}, .cpus = job.what->cpus, .memory = job.what->ram};
    AppendParasolRow({.job = job.job,
                      .submitted = now,
                      .folder = folder,
                      .in = {},
                      .out = {},
                      .text = job.what->command},
                     &task.row);
    return task;
  };
  auto accepted = SubmitTasks(link_, folder, {jobs.size(), task_of, known});
  if (!accepted) return std::unexpected(std::move(accepted.error()));
  FollowResults(link_);
  return ParasolId(accepted->job, accepted->first);
}

Result<uint64_t> BatchClient::Chill() {
  auto job = link_.FindJob();
  if (!job || *job == JobId()) return job ? Result<uint64_t>(0) : std::unexpected(job.error());
  auto withdrawn = client::AskOne(link_, wire::Withdraw{*job});
  if (!withdrawn) return std::unexpected(std::move(withdrawn.error()));
  return withdrawn->count;
}

Status BatchClient::Remove(std::span<const uint64_t> ids) {
  if (job_ == JobId()) {
    auto job = link_.NeedJob();
    if (!job) return std::unexpected(std::move(job.error()));
    job_ = *job;
  }
  TasksOfJob tasks{.job = job_.value};
  for (uint64_t id : ids) {
    uint32_t number = PartsOfParasolId(id).task + 1;
    tasks.ranges.push_back({number, number, 1});
    if (tasks.ranges.size() < kIdsAtOnce && id != ids.back()) continue;
    auto removed = client::AskOne(link_, wire::Cancel{.jobs = {}, .tasks = {tasks}});
    if (!removed) return std::unexpected(std::move(removed.error()));
    tasks.ranges.clear();
  }
  return {};
}

Status BatchClient::Change(const wire::ChangeJobs& change) {
  auto job = link_.FindJob();
  if (job && *job == JobId()) {
    // It is wished for jobs to come.
    auto made = SubmitTasks(link_, os::DirName(link_.results()), {});
    if (!made) return std::unexpected(std::move(made.error()));
    job = made->job;
  }
  if (!job) return std::unexpected(std::move(job.error()));
  wire::ChangeJobs of_job = change;
  of_job.jobs = OnlyJob(*job);
  of_job.ended_too = true;
  auto changed = client::AskOne(link_, std::move(of_job));
  return changed ? Status() : std::unexpected(std::move(changed.error()));
}

Status BatchClient::SetPriority(int64_t priority) {
  return Change(
      {.jobs = {}, .change = wire::ChangeJobs::Change::kSet, .weight = WeightOfPriority(priority)});
}

// Not one job at a time is a hold, which any other number ends.
Status BatchClient::SetMaxJob(int64_t most) {
  using enum wire::ChangeJobs::Change;
  if (most == 0) return Change({.jobs = {}, .change = kHold});
  auto number = static_cast<uint32_t>(std::clamp<int64_t>(most, 0, UINT32_MAX));
  if (auto set = Change({.jobs = {}, .change = kSet, .max_running = number}); !set) return set;
  auto work = client::AskOne(
      link_, wire::LookAtWork{.submission = BatchSubmission(link_.state().name()), .user = {}});
  if (!work) return std::unexpected(std::move(work.error()));
  bool held = work->held == HoldReason::kUser;
  return held ? Change({.jobs = {}, .change = kRelease}) : Status();
}

Status BatchClient::ClearSick() { return TrustNodesOfBatch(link_); }

Status BatchClient::ResetCounts() {
  auto job = link_.NeedJob();
  if (!job) return std::unexpected(std::move(job.error()));
  auto done = client::AskOne(link_, wire::ResetCounts{*job});
  return done ? Status() : std::unexpected(std::move(done.error()));
}

Result<BatchClient::Freed> BatchClient::Free() {
  auto job = link_.FindJob();
  if (!job) return std::unexpected(std::move(job.error()));
  if (*job == JobId()) return Freed::kNotFound;
  auto freed = client::AskOne(link_, wire::Forget{.jobs = OnlyJob(*job), .older_than = {}});
  if (freed) return Freed::kFreed;
  bool busy = freed.error().kind == ErrorKind::kBusy && !link_.call().interrupted();
  return busy ? Result<Freed>(Freed::kBusy) : std::unexpected(std::move(freed.error()));
}

Result<std::string> BatchClient::FetchStderr(uint64_t id, const std::string& host) {
  auto job = link_.NeedJob();
  if (!job) return std::unexpected(std::move(job.error()));
  auto told = client::AskOne(
      link_,
      wire::AskNode{.node = host, .job = *job, .task = PartsOfParasolId(id).task, .question = {}});
  if (!told) return std::unexpected(std::move(told.error()));
  return std::move(told->text);
}

Status BatchClient::Watch() {
  auto job = link_.FindJob();
  if (!job) return std::unexpected(std::move(job.error()));
  if (*job == JobId()) return Fail(ErrorKind::kNotFound, "the hub knows nothing of this batch");
  watch_.emplace(*setting_.loop, setting_.target);
  if (link_.call().interrupted()) watch_->Interrupt();
  if (auto connected = watch_->Connect(); !connected) return connected;
  return watch_->Send(wire::Watch{*job});
}

// Each change would be too often for who looks at all of a batch: its end is what matters.
Status BatchClient::WaitForChange(Duration most) {
  Instant last = setting_.loop->Now() + most;
  if (!watch_) {
    if (auto watching = Watch(); !watching) {
      watch_.reset();
      if (watching.error().kind != ErrorKind::kNotFound) return watching;
      return Pause(most);
    }
  }
  for (;;) {
    auto reply = watch_->NextWithin(std::max(Duration(), last - setting_.loop->Now()));
    if (!reply) return {};
    const wire::JobNews* news = *reply ? std::get_if<wire::JobNews>(&**reply) : nullptr;
    if (news != nullptr && !news->finished) continue;
    Status status = *reply ? Status() : std::unexpected(std::move(reply->error()));
    watch_.reset();
    if (!status) return status;
    return Pause(kAfterEnd);
  }
}

void BatchClient::Settle() { AwaitFollower(link_); }

Status BatchClient::Pause(Duration time) {
  link_.call().Pause(time);
  if (link_.call().interrupted()) return Fail(ErrorKind::kBusy, "interrupted");
  return {};
}

}  // namespace spate::parasol
