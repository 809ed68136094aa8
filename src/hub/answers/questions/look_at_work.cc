// Work that is left of jobs.
#include <algorithm>
#include <map>

#include "hub/answers/question.h"

namespace spate::hub {
namespace {

// One question is answered up to so many jobs, tasks looked at, ranges of them, and runs.
constexpr size_t kJobsAtOnce = 1'000;
constexpr uint32_t kLookedAtOnce = 1'000'000;
constexpr size_t kRangesAtOnce = 100'000;

using RunsOfJobs = std::map<JobId, std::vector<TaskRun>>;

// Tasks of jobs that nodes have told to run, and whose end is not known.
RunsOfJobs RunsOf(const engine::Engine& engine, const Nodes& nodes,
                  const std::vector<JobId>& picked) {
  RunsOfJobs runs;
  for (JobId job : picked) runs[job];
  for (const auto& [id, node] : nodes.all()) {
    if (!node.channel || !node.state || (node.row.removed && engine.Leased(id) == 0)) continue;
    for (const wire::NodeState::Run& run : node.state->runs) {
      const auto& [job, task, attempt] = run.ref;
      auto of_job = runs.find(job);
      if (of_job == runs.end() || engine.StateOf(job, task) != TaskState::kLeased) continue;
      of_job->second.push_back({task, node.row.name, nodes.loop().ToWall(run.since)});
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

std::vector<AvoidedNode> AvoidedBy(const engine::Engine& engine, const Nodes& nodes, JobId job) {
  std::vector<AvoidedNode> avoided;
  for (const engine::JobTrouble& trouble : engine.Troubles(job)) {
    if (!trouble.set_aside && trouble.failures < kLimits.node_failures) continue;
    auto node = nodes.all().find(trouble.node);
    if (node == nodes.all().end()) continue;
    avoided.push_back({node->second.row.name, trouble.failures});
  }
  return avoided;
}

JobWork WorkOf(const engine::Engine& engine, const Nodes& nodes, JobId id,
               const KnownJobs::Job& known) {
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
  work.avoided = AvoidedBy(engine, nodes, id);
  work.finished = known.finished;
  return work;
}

// The answers to one question: so many jobs, or such a part of the last one, as it may cost.
class WorkAnswers {
 public:
  WorkAnswers(const Asking& asking, const Jobs& jobs, const Nodes& nodes,
              const wire::LookAtWork& asked)
      : asking_(asking), jobs_(jobs), nodes_(nodes), asked_(asked) {}

  // `picked` is sorted, and not longer than kJobsAtOnce; `behind`: there may be more behind it.
  std::vector<JobWork> Of(const std::vector<JobId>& picked, bool behind) {
    RunsOfJobs runs = RunsOf(jobs_.engine(), nodes_, picked);
    for (JobId job : picked) {
      if (tasks_ == 0 || ranges_ == 0) return EndAt(job, 0);
      const KnownJobs::Job& known = *jobs_.known().Find(job);
      const TaskIndex from = job == asked_.from_job ? asked_.from_task : 0;
      JobWork& work = answers_.emplace_back(WorkOf(jobs_.engine(), nodes_, job, known));
      std::vector<TaskRun>& run = runs[job];
      work.running = static_cast<uint32_t>(run.size());
      work.hidden = !MaySee(asking_.caller(), known.user) && !jobs_.known().IsPublic(job, known);
      if (work.hidden) {
        work.needs = {};
        continue;
      }
      if (from == 0) work.runs = std::move(run);
      if (!asked_.tasks) continue;
      const TaskIndex next = AddTasks(work, from);
      if (next < work.counts.total) return EndAt(job, next);
    }
    if (behind) return EndAt(JobId(picked.back().value + 1), 0);
    return std::move(answers_);
  }

 private:
  // The tasks from there on that are left; returns from where others are.
  TaskIndex AddTasks(JobWork& work, TaskIndex from) {
    const TaskIndex until =
        from + std::min(work.counts.total - std::min(from, work.counts.total), tasks_);
    work.unended = jobs_.engine().Unended(work.job, from, until);
    tasks_ -= until - from;
    if (work.unended.size() <= ranges_) {
      ranges_ -= work.unended.size();
      return until;
    }
    const TaskIndex next = work.unended[ranges_].first;
    work.unended.resize(ranges_);
    ranges_ = 0;
    return next;
  }
  std::vector<JobWork> EndAt(JobId job, TaskIndex task) {
    answers_.back().next_job = job;
    answers_.back().next_task = task;
    return std::move(answers_);
  }

  const Asking& asking_;
  const Jobs& jobs_;
  const Nodes& nodes_;
  const wire::LookAtWork& asked_;
  uint32_t tasks_ = kLookedAtOnce;
  size_t ranges_ = kRangesAtOnce;
  std::vector<JobWork> answers_;
};

// The job of this submission. One that is not durable yet, or is being removed, does not exist for
// questions.
Result<std::vector<JobId>> JobOfSubmission(const Asking& asking, const Jobs& jobs,
                                           const wire::LookAtWork& asked) {
  const std::string& user = asked.user.empty() ? asking.caller().user : asked.user;
  auto job = TRY(jobs.FindSubmission(user + ":" + asked.submission));
  std::vector<JobId> found;
  if (job && jobs.known().Find(*job) != nullptr) found.push_back(*job);
  return found;
}

std::vector<JobId> JobsAtWork(const KnownJobs& known, const wire::LookAtWork& asked) {
  std::vector<JobId> jobs = known.UnfinishedFrom(asked.from_job, kJobsAtOnce + 1);
  if (asked.reset) {
    std::vector<JobId> others = known.WithResetCounts(asked.from_job, kJobsAtOnce + 1);
    jobs.insert(jobs.end(), others.begin(), others.end());
    std::ranges::sort(jobs);
    auto twice = std::ranges::unique(jobs);
    jobs.erase(twice.begin(), twice.end());
  }
  return jobs;
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::LookAtWork& asked) {
  const Jobs& jobs = hub.jobs;
  Result<std::vector<JobId>> picked = asked.submission.empty()
                                          ? JobsAtWork(jobs.known(), asked)
                                          : JobOfSubmission(asking, jobs, asked);
  if (!picked) return std::unexpected(picked.error());
  const bool behind = picked->size() > kJobsAtOnce;
  if (behind) picked->resize(kJobsAtOnce);
  std::vector<JobWork> answers = WorkAnswers(asking, jobs, hub.nodes, asked).Of(*picked, behind);
  // Ends that it leaves out must be in the journal when it is heard.
  asking.client.WhenSettled([client = &asking.client, answers = std::move(answers)] {
    for (const JobWork& answer : answers) client->SendAnswer(answer);
    client->End();
  });
  return {};
}

}  // namespace

extern const HubQuestion kLookAtWork = QuestionOf<wire::LookAtWork, Answer>(
    {.who = kAnybody,
     .cost = {.run = 50, .listed = 4'000, .task = 3},
     .tells = "user, counts, policy and avoided nodes of jobs"});

}  // namespace spate::hub
