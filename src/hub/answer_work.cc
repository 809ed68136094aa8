// What is left of jobs to do, and changes that doors make to theirs.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hub/answers.h"
#include "hub/service.h"

namespace spate::hub {
namespace {

// One answer is a message: the tasks that one may name.
constexpr size_t kRangesAtOnce = 100'000;
constexpr size_t kRunsAtOnce = 20'000;
// A node gives back what it has not started within a round trip.
constexpr Duration kRecallPatience = Duration::Millis(250);

// ---- What is left to do ------------------------------------------------------------------------

using RunsOfJobs = std::map<JobId, std::vector<TaskRun>>;

// What nodes have told to run, where no end of it is known, of one job or of all.
RunsOfJobs RunsOf(const Service& service, std::optional<JobId> only) {
  RunsOfJobs runs;
  for (const auto& [id, node] : service.nodes().all()) {
    if (node.row.removed || !node.state) continue;
    for (const wire::NodeState::Run& run : node.state->runs) {
      const auto& [job, task, attempt] = run.ref;
      if (only && job != *only) continue;
      if (service.engine().StateOf(job, task) != TaskState::kLeased) continue;
      runs[job].push_back({task, node.row.name, run.since});
    }
  }
  for (auto& [job, of_job] : runs) {
    std::ranges::stable_sort(of_job, {}, &TaskRun::index);
    // One that was lost on a node and runs on another may be told twice.
    auto twice = std::ranges::unique(of_job, {}, &TaskRun::index);
    of_job.erase(twice.begin(), twice.end());
  }
  return runs;
}

std::vector<AvoidedNode> AvoidedBy(const Service& service, JobId job) {
  std::vector<AvoidedNode> avoided;
  for (const engine::JobTrouble& trouble : service.engine().Troubles(job)) {
    if (!trouble.set_aside && trouble.failures < kLimits.node_failures) continue;
    auto node = service.nodes().all().find(trouble.node);
    if (node == service.nodes().all().end()) continue;
    avoided.push_back({node->second.row.name, trouble.failures});
  }
  return avoided;
}

JobWork WorkOf(const Service& service, JobId id, const KnownJobs::Job& known) {
  const engine::Engine& engine = service.engine();
  JobWork work;
  work.job = id;
  work.user = known.user;
  work.counts = engine.Counts(id).value_or(known.counts);
  work.counted_from = known.counted_from;
  if (auto newest = engine.NewestRequest(id)) work.needs = std::move(newest->needs);
  if (auto policy = engine.Policy(id)) {
    work.weight = policy->weight;
    work.max_running = policy->max_running;
  }
  work.failures_in_row = engine.FailuresInRow(id);
  work.held = engine.Held(id);
  work.avoided = AvoidedBy(service, id);
  work.finished = known.finished;
  return work;
}

template <typename T>
std::vector<T> Piece(const std::vector<T>& all, size_t from, size_t most) {
  auto at = [&](size_t i) { return all.begin() + static_cast<ptrdiff_t>(std::min(i, all.size())); };
  return {at(from), at(from + most)};
}

// One job, in as many answers as it takes.
void AddTo(std::vector<JobWork>& answers, JobWork work, const std::vector<TaskRange>& unended,
           const std::vector<TaskRun>& runs) {
  size_t range = 0, run = 0;
  do {
    work.unended = Piece(unended, range, kRangesAtOnce);
    work.runs = Piece(runs, run, kRunsAtOnce);
    range += kRangesAtOnce;
    run += kRunsAtOnce;
    answers.push_back(work);
  } while (range < unended.size() || run < runs.size());
}

// The job of this submission. One that is not durable yet, or is being removed, does not exist for
// questions.
Result<std::vector<JobId>> JobOfSubmission(const QueryCall& call, const wire::LookAtWork& asked) {
  const std::string& user = asked.user.empty() ? call.caller().user : asked.user;
  auto job = call.service.jobs().FindSubmission(user + ":" + asked.submission);
  if (!job) return std::unexpected(job.error());
  std::vector<JobId> jobs;
  if (*job && call.service.known().Find(**job) != nullptr) jobs.push_back(**job);
  return jobs;
}

std::vector<JobId> JobsAtWork(const Service& service, bool reset) {
  std::vector<JobId> jobs;
  for (const engine::JobInfo& job : service.known().Unfinished()) jobs.push_back(job.job);
  if (!reset) return jobs;
  std::vector<JobId> others = service.known().WithResetCounts();
  jobs.insert(jobs.end(), others.begin(), others.end());
  std::ranges::sort(jobs);
  auto twice = std::ranges::unique(jobs);
  jobs.erase(twice.begin(), twice.end());
  return jobs;
}

// ---- Changes -----------------------------------------------------------------------------------

// The job, if it is there and the caller's.
Status CheckJob(const QueryCall& call, JobId job) {
  return call.service.jobs().CheckUsable(call.caller(), job);
}

// Takes back what waits of a job now; how many that is.
uint32_t WithdrawQueued(Service& service, JobId job) {
  auto counts = service.engine().Counts(job);
  uint32_t queued = counts ? counts->queued : 0;
  if (queued > 0) service.hub().Post(engine::WithdrawTasks{job, {{0, counts->total}}});
  return queued;
}

}  // namespace

Status Answer(QueryCall& call, const wire::LookAtWork& asked) {
  Service& service = call.service;
  Result<std::vector<JobId>> jobs =
      asked.submission.empty() ? JobsAtWork(service, asked.reset) : JobOfSubmission(call, asked);
  if (!jobs) return std::unexpected(jobs.error());
  std::optional<JobId> only;
  if (jobs->size() == 1) only = jobs->front();
  RunsOfJobs runs = RunsOf(service, only);
  std::vector<JobWork> answers;
  for (JobId job : *jobs) {
    auto unended = asked.tasks ? service.engine().Unended(job) : std::vector<TaskRange>();
    AddTo(answers, WorkOf(service, job, *service.known().Find(job)), unended, runs[job]);
  }
  // Ends that it leaves out must be in the journal when it is heard.
  call.client.WhenSettled([client = &call.client, answers = std::move(answers)] {
    for (const JobWork& answer : answers) client->Give(answer);
    client->End();
  });
  return {};
}

Status Answer(QueryCall& call, const wire::AskNode& asked) {
  if (auto right = call.service.jobs().CheckRight(call.caller(), asked.job); !right) return right;
  const KnownJobs::Job* job = call.service.known().Find(asked.job);
  auto told = std::make_shared<Result<std::string>>();
  auto tell = call.client.Guarded([client = &call.client, told] {
    if (!*told) return client->Fail(told->error());
    client->Give(wire::AskNode::Answer{**told});
    client->End();
  });
  call.service.calls().Ask(asked.node,
                           {.call = 0,
                            .job = asked.job,
                            .task = asked.task,
                            .user = job->user,
                            .question = asked.question},
                           [told, tell](Result<std::string> answer) {
                             *told = std::move(answer);
                             tell();
                           });
  return {};
}

// Held meanwhile, so that nothing of it is started while nodes give back what they hold.
Status Answer(QueryCall& call, const wire::Withdraw& asked) {
  if (auto right = CheckJob(call, asked.job); !right) return right;
  Service& service = call.service;
  JobId job = asked.job;
  auto counts = service.engine().Counts(job);
  if (!counts || service.engine().Finished(job)) {
    call.EndWhenSettled(wire::TaskCount{job, 0});
    return {};
  }
  bool held = service.engine().Held(job) != engine::HoldReason::kNone;
  if (!held) service.hub().Post(engine::HoldJob{job, false});
  uint32_t first = WithdrawQueued(service, job);
  auto count = std::make_shared<uint32_t>(first);
  auto tell = call.client.Guarded([client = &call.client, job, count] {
    client->Give(wire::TaskCount{job, *count});
    client->End();
  });
  service.loop().At(service.loop().Now() + kRecallPatience, [&service, job, held, count, tell] {
    *count += WithdrawQueued(service, job);
    if (!held) service.hub().Post(engine::ReleaseJob{job});
    service.jobs().WhenSettled(tell);
  });
  return {};
}

Status Answer(QueryCall& call, const wire::TrustNodes& asked) {
  if (auto right = CheckJob(call, asked.job); !right) return right;
  call.service.hub().Post(engine::ClearSick{NodeId(), asked.job});
  if (call.service.engine().Held(asked.job) == engine::HoldReason::kAllFail) {
    call.service.hub().Post(engine::ReleaseJob{asked.job});
    call.service.known().Held(asked.job, engine::HoldReason::kNone);
  }
  call.EndWhenSettled(wire::Done());
  return {};
}

Status Answer(QueryCall& call, const wire::ResetCounts& asked) {
  if (auto right = CheckJob(call, asked.job); !right) return right;
  call.service.known().ResetCounts(asked.job);
  call.Give(wire::Done());
  call.End();
  return {};
}

}  // namespace spate::hub
