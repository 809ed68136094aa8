// List() asks for all of the job that has not ended; Start() and Withdraw() change it. Nothing is
// remembered that the hub would not tell again, but which tasks had not ended at the last look: of
// those that are gone the ends are asked for, to tell why.

#include "doors/mw/overseer/hub_slaves.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "client/asker.h"
#include "client/submission.h"
#include "core/model/limits.h"
#include "wire/questions.h"

namespace spate::mw {
namespace {

constexpr std::string_view kWord = "overseer";  // in the jobs' argv
// How often a job with our name has ended, and another one followed.
constexpr uint32_t kMostGenerations = 10'000;
constexpr size_t kEndsAtOnce = 100;

JobSelector OnlyJob(JobId job) {
  JobSelector selector;
  selector.ranges.push_back({job.value, job.value, 1});
  return selector;
}

uint64_t IdOf(JobId job, TaskIndex index) { return uint64_t{job.value} << 32 | index; }

SlaveEnd EndOf(const TaskFacts& task) {
  const AttemptEnd& end = task.last->end;
  int code = end.cause == Cause::kSignal ? 128 + end.status : end.status;
  bool by_code =
      end.cause == Cause::kSuccess || end.cause == Cause::kExit || end.cause == Cause::kSignal;
  SlaveEnd slave{.done = task.state == TaskState::kSucceeded,
                 .ran = end.wall,
                 .how = by_code ? TextOfEnd(code) : fmt::format("by cause {}", WordOf(end.cause)),
                 .last_words = LastWords(task.stderr_end)};
  if (slave.last_words.empty()) slave.last_words = LastWords(end.note);
  return slave;
}

std::vector<SlaveSeen> SlavesIn(const JobWork& work) {
  std::vector<SlaveSeen> there;
  std::set<TaskIndex> running;
  for (const TaskRun& run : work.runs) {
    if (running.insert(run.index).second)
      there.push_back({IdOf(work.job, run.index), true, run.since});
  }
  for (const TaskRange& range : work.unended) {
    for (uint32_t i = 0; i < range.count; ++i) {
      TaskIndex index = range.first + i;
      if (!running.contains(index)) there.push_back({IdOf(work.job, index), false, {}});
    }
  }
  return there;
}

}  // namespace

std::string HubSlaves::Submission() const {
  return fmt::format("{}/{}.{}", kWord, identity_, generation_);
}

Status HubSlaves::Prepare(const ResourceFile& file) {
  std::string identity = IdentityOf(file, how_);
  if (identity == identity_) return {};
  auto shipment = TRY(MakeShipment(file, how_));
  if (job_ != JobId()) {
    TRY(CloseJob(job_));
  }
  shipment_ = std::move(shipment);
  identity_ = std::move(identity);
  generation_ = 1;
  job_ = JobId();
  unended_.clear();
  return {};
}

Result<JobWork> HubSlaves::FindWork() {
  for (; generation_ < kMostGenerations; ++generation_) {
    // A long answer comes in several.
    JobWork all;
    TRY(client::QueryWork(
        hub_, wire::LookAtWork{.submission = Submission(), .user = {}, .tasks = true},
        [&](JobWork work) {
          work.unended.insert(work.unended.end(), all.unended.begin(), all.unended.end());
          work.runs.insert(work.runs.end(), all.runs.begin(), all.runs.end());
          all = std::move(work);
        }));
    if (!all.finished) return all;
  }
  return Fail(ErrorKind::kExhausted, "too many jobs of this file have ended on the hub");
}

Result<SlaveRoster> HubSlaves::List() {
  auto work = TRY(FindWork());
  job_ = work.job;
  held_ = work.held;
  TRY(CloseOthers());
  SlaveRoster roster{.there = SlavesIn(work), .ended = {}, .job = job_.value};
  std::set<TaskIndex> unended;
  for (const SlaveSeen& slave : roster.there) unended.insert(static_cast<TaskIndex>(slave.id));
  std::vector<TaskIndex> ended;
  std::ranges::set_difference(unended_, unended, std::back_inserter(ended));
  unended_ = std::move(unended);
  TRY(AskEnds(std::move(ended), roster));
  return roster;
}

// Many that end at once are as a rule much the same.
Status HubSlaves::AskEnds(std::vector<TaskIndex> ended, SlaveRoster& roster) {
  if (ended.empty()) return {};
  ended.resize(std::min(ended.size(), kEndsAtOnce));
  wire::TaskPick pick;
  TasksOfJob& tasks = pick.tasks.emplace_back();
  tasks.job = job_.value;
  for (TaskIndex index : ended) tasks.ranges.push_back({index + 1, index + 1, 1});
  wire::ListTasks question{.tasks = {std::move(pick)}, .commands = false, .stderr_ends = true};
  return client::Query(hub_, std::move(question), [&](const wire::TasksListed& listed) {
    for (const TaskFacts& task : listed.tasks) {
      bool by_itself = task.state == TaskState::kSucceeded || task.state == TaskState::kFailed;
      if (by_itself && task.last) roster.ended.push_back(EndOf(task));
    }
  });
}

Status HubSlaves::Start(uint64_t count) {
  // Nodes and the whole job, that the hub gave up because slaves failed on them: whether to try
  // again is decided here.
  if (job_ != JobId() && held_ == HoldReason::kAllFail) {
    TRY(client::QueryOne(hub_, wire::TrustNodes{job_}));
  }
  const bool fresh = job_ == JobId();
  JobSettings settings = shipment_.settings;
  if (!fresh) settings.puts.clear();  // the job has them
  const auto tasks = static_cast<uint32_t>(std::min<uint64_t>(count, kLimits.tasks_per_job));
  auto slaves = client::Submission::Of(std::move(settings), {std::string(kWord), how_.path});
  wire::Submit& head = slaves.head;
  head.submission = Submission();
  if (!fresh) head.submission += fmt::format("+{}", hub_.loop().Now().ns);
  head.name = shipment_.settings.name;
  head.open = true;
  head.add_to = job_;
  if (fresh) slaves.pieces = shipment_.pieces;
  slaves.SetTasks(tasks, [this](size_t) { return needs_; }, [](size_t) { return std::string(); });
  auto accepted = TRY(client::Submit(hub_, slaves));
  job_ = accepted.job;
  if (accepted.known) return {};  // an earlier call's, whose answer was lost; the next look tells
  for (uint32_t i = 0; i < tasks; ++i) unended_.insert(accepted.first + i);
  return {};
}

Result<uint32_t> HubSlaves::WithdrawAll(JobId job) {
  auto withdrawn = TRY(client::QueryOne(hub_, wire::Withdraw{job}));
  return withdrawn.count;
}

// A hub takes back all that waits, and never what has just begun; so what is to stay comes again.
Status HubSlaves::Withdraw(uint64_t count) {
  if (job_ == JobId() || count == 0) return {};
  auto withdrawn = TRY(WithdrawAll(job_));
  return withdrawn > count ? Start(withdrawn - count) : Status();
}

Status HubSlaves::CloseJob(JobId job) {
  (void)TRY(WithdrawAll(job));
  auto closed = client::QueryOne(
      hub_, wire::ChangeJobs{.jobs = OnlyJob(job), .change = wire::ChangeJobs::Change::kClose});
  return closed ? Status() : std::unexpected(std::move(closed.error()));
}

Status HubSlaves::Close() { return job_ == JobId() ? Status() : CloseJob(job_); }

Status HubSlaves::CloseOthers() {
  if (others_closed_) return {};
  wire::ListJobs question;
  question.kinds =
      1u << static_cast<int>(JobStanding::kRunning) | 1u << static_cast<int>(JobStanding::kQueued) |
      1u << static_cast<int>(JobStanding::kHeld) | 1u << static_cast<int>(JobStanding::kFrozen) |
      1u << static_cast<int>(JobStanding::kFreezing);
  question.whole = true;
  std::vector<JobId> others;
  const std::vector<std::string> argv = {std::string(kWord), how_.path};
  auto asked = client::Query(hub_, std::move(question), [&](const wire::JobsListed& listed) {
    for (const JobFacts& job : listed.jobs) {
      bool ours = job.argv == argv && job.name == shipment_.settings.name;
      if (ours && job.job != job_) others.push_back(job.job);
    }
  });
  // A hub that has never had a job has none to list.
  if (!asked && asked.error().kind != ErrorKind::kNotFound) return asked;
  for (JobId job : others) {
    TRY(CloseJob(job));
  }
  others_closed_ = true;
  return {};
}

}  // namespace spate::mw
