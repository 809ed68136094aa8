#include "doors/parasol/client/para_client.h"

#include <algorithm>
#include <cmath>

#include "client/submission.h"
#include "core/model/limits.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/client/unix_seconds.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "os/file.h"
#include "os/signals.h"

namespace spate::parasol {
namespace {

constexpr int64_t kUsualPriority = 10;
constexpr size_t kIdsAtOnce = 10'000;
// Not to ask again and again about a batch that has ended.
constexpr Duration kAfterEnd = Duration::Millis(10);

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

}  // namespace

uint32_t WeightOfPriority(int64_t priority) {
  return static_cast<uint32_t>(
      std::max<int64_t>(1, kJobWeight * kUsualPriority / std::max<int64_t>(1, priority)));
}

int64_t PriorityOfWeight(uint32_t weight) {
  return std::max<int64_t>(1, kJobWeight * kUsualPriority / std::max(1u, weight));
}

Needs NeedsOfJob(double cpus, uint64_t memory) {
  Needs needs;
  if (cpus > 0) {
    needs.milli_cpus = static_cast<uint32_t>(std::clamp(std::round(cpus * kMilliCpu), 1.0, 1e9));
  }
  needs.memory = memory;
  return needs;
}

Result<wire::Accepted> SubmitTasks(BatchLink& link, const std::string& folder,
                                   const NewTasks& tasks) {
  const std::string& name = link.state().name();
  JobSettings settings;
  settings.name = name;
  settings.cwd = folder;
  settings.row_kind = RowKind::kParasol;
  settings.leftovers = Leftovers::kEnd;
  auto submission = client::Submission::Of(std::move(settings), {"para", name});
  submission.again = client::Submission::Again::kBusy;
  submission.head.submission = BatchSubmission(name);
  submission.head.name = name;
  if (tasks.known) submission.head.known_tasks = static_cast<uint32_t>(*tasks.known);
  submission.SetTasks(static_cast<uint32_t>(tasks.count), tasks.needs, tasks.row);
  return client::Submit(link.call(), submission);
}

Status TrustNodesOfBatch(BatchLink& link) {
  auto job = TRY(link.NeedJob());
  auto done = client::QueryOne(link, wire::TrustNodes{job});
  return done ? Status() : std::unexpected(std::move(done.error()));
}

BatchClient::BatchClient(client::HubSetting setting, ParaState state)
    : setting_(std::move(setting)), link_(*setting_.loop, setting_.target, std::move(state)) {
  setting_.loop->OnSignal(os::kSignalInt, [this] { link_.call().Interrupt(); });
}

Result<std::unique_ptr<BatchClient>> BatchClient::Open(const ParaState& state) {
  auto setting = TRY(FindSiteSetting());
  return Of(std::move(setting), state);
}

std::unique_ptr<BatchClient> BatchClient::Of(client::HubSetting setting, const ParaState& state) {
  return std::unique_ptr<BatchClient>(new BatchClient(std::move(setting), state));
}

Result<BatchClient::State> BatchClient::QueryForReport() {
  auto own = QueryAbout("");
  if (!own || job_ != JobId()) return own;
  std::string owner = OwnerOf(os::DirName(link_.results()));
  if (owner.empty()) return own;
  auto state = TRY(QueryAbout(owner));
  state.of_owner = true;
  return state;
}

Result<BatchClient::State> BatchClient::QueryAbout(const std::string& owner) {
  State state;
  auto hub = TRY(client::QueryOne(link_, wire::LookAtHub()));
  state.everybody = hub.queued + hub.running;
  job_ = JobId();
  TRY(client::QueryWork(
      link_,
      wire::LookAtWork{
          .submission = BatchSubmission(link_.state().name()), .user = owner, .tasks = true},
      [&](const JobWork& work) {
        job_ = work.job;
        AddWork(work, state);
      }));
  return state;
}

Status BatchClient::CatchUp() { return CatchUpResults(link_); }

Result<std::vector<BatchClient::Submitted>> BatchClient::SubmittedFrom(uint64_t first) {
  std::vector<Submitted> submitted;
  if (job_ == JobId() || first >= kLimits.tasks_per_job) return submitted;
  auto from = static_cast<TaskIndex>(first);
  wire::ReadRows question{.tasks = {{job_, {{from, kLimits.tasks_per_job - from}}}},
                          .whole = RowKind::kParasol};
  TRY(client::Query(link_, question, [&](const wire::RowsRead& read) -> Status {
    for (const RowFacts& facts : read.rows) {
      auto row = TRY(ReadParasolRow(facts.row));
      submitted.push_back({ParasolId(job_, facts.index), row.job, row.submitted});
    }
    return {};
  }));
  return submitted;
}

Result<uint64_t> BatchClient::Submit(std::span<const Submission> jobs, uint64_t known,
                                     const std::string& folder, int64_t now) {
  auto needs_of = [&](size_t i) { return NeedsOfJob(jobs[i].what->cpus, jobs[i].what->ram); };
  auto row_of = [&](size_t i) {
    std::string row;
    AppendParasolRow({.job = jobs[i].job,
                      .submitted = now,
                      .folder = folder,
                      .in = {},
                      .out = {},
                      .text = jobs[i].what->command},
                     &row);
    return row;
  };
  auto accepted = TRY(SubmitTasks(link_, folder, {jobs.size(), needs_of, row_of, known}));
  FollowResults(link_);
  return ParasolId(accepted.job, accepted.first);
}

Result<uint64_t> BatchClient::Chill() {
  auto job = link_.FindJob();
  if (!job || *job == JobId()) return job ? Result<uint64_t>(0) : std::unexpected(job.error());
  auto withdrawn = TRY(client::QueryOne(link_, wire::Withdraw{*job}));
  return withdrawn.count;
}

Status BatchClient::Remove(std::span<const uint64_t> ids) {
  if (job_ == JobId()) {
    auto job = TRY(link_.NeedJob());
    job_ = job;
  }
  TasksOfJob tasks{.job = job_.value};
  for (uint64_t id : ids) {
    uint32_t number = PartsOfParasolId(id).task + 1;
    tasks.ranges.push_back({number, number, 1});
    if (tasks.ranges.size() < kIdsAtOnce && id != ids.back()) continue;
    TRY(client::QueryOne(link_, wire::Cancel{.jobs = {}, .tasks = {tasks}}));
    tasks.ranges.clear();
  }
  return {};
}

Status BatchClient::Change(const wire::ChangeJobs& change) {
  auto job = link_.FindJob();
  if (job && *job == JobId()) {
    // It is wished for jobs to come.
    auto made = TRY(SubmitTasks(link_, os::DirName(link_.results()), {}));
    job = made.job;
  }
  if (!job) return std::unexpected(std::move(job.error()));
  wire::ChangeJobs of_job = change;
  of_job.jobs = OnlyJob(*job);
  of_job.ended_too = true;
  auto changed = client::QueryOne(link_, std::move(of_job));
  return changed ? Status() : std::unexpected(std::move(changed.error()));
}

Status BatchClient::SetPriority(int64_t priority) {
  return Change({.change = wire::ChangeJobs::Change::kSet,
                 .set = JobChange().With<&JobTerms::weight>(WeightOfPriority(priority))});
}

// Not one job at a time is a hold, which the hub ends at any other number.
Status BatchClient::SetMaxJob(int64_t most) {
  using enum wire::ChangeJobs::Change;
  if (most == 0) return Change({.jobs = {}, .change = kHold});
  auto number = static_cast<uint32_t>(std::clamp<int64_t>(most, 0, UINT32_MAX));
  return Change({.change = kSet, .set = JobChange().With<&JobTerms::max_running>(number)});
}

Status BatchClient::ClearSick() { return TrustNodesOfBatch(link_); }

Status BatchClient::ResetCounts() {
  auto job = TRY(link_.NeedJob());
  auto done = client::QueryOne(link_, wire::ResetCounts{job});
  return done ? Status() : std::unexpected(std::move(done.error()));
}

Result<BatchClient::Freed> BatchClient::Free() {
  auto job = TRY(link_.FindJob());
  if (job == JobId()) return Freed::kNotFound;
  // A sick batch has not ended for the hub, whatever is left of it.
  auto state = TRY(QueryState());
  if (state.sick && state.unended.empty()) {
    TRY(ClearSick());
  }
  auto freed = client::QueryOne(link_, wire::Forget{.jobs = OnlyJob(job), .older_than = {}});
  if (freed) return Freed::kFreed;
  bool busy = freed.error().kind == ErrorKind::kBusy && !link_.call().interrupted();
  return busy ? Result<Freed>(Freed::kBusy) : std::unexpected(std::move(freed.error()));
}

Result<std::string> BatchClient::FetchStderr(uint64_t id, const std::string& host) {
  auto job = TRY(link_.NeedJob());
  auto told = TRY(client::QueryOne(
      link_, wire::ReadStderr{.node = host, .job = job, .task = PartsOfParasolId(id).task}));
  return std::move(told.text);
}

Status BatchClient::Watch() {
  auto job = TRY(link_.FindJob());
  if (job == JobId()) return Fail(ErrorKind::kNotFound, "the hub knows nothing of this batch");
  watch_ = TRY(link_.call().Begin(wire::Watch{job}));
  return {};
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
    const Duration left = std::max(Duration(), last - setting_.loop->Now());
    auto reply = link_.call().NextWithin(*watch_, left);
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
