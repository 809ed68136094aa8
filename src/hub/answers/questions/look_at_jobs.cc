// Obstacles of jobs that have not ended.
#include <algorithm>
#include <iterator>

#include "hub/answers/pick.h"
#include "hub/answers/question.h"
#include "hub/answers/task_facts.h"

namespace spate::hub {
namespace {

// Each may be a walk over a job's tasks.
constexpr size_t kMostLookedAt = 50;
constexpr size_t kMostLeftRunning = 1000;
constexpr size_t kMostRunning = 10'000;

Status Answer(const AnswerParts& hub, Asking& asking, const wire::LookAtJobs& asked) {
  Jobs& jobs = hub.jobs;
  const Nodes& nodes = hub.nodes;
  auto named = TRY(NamedJobs(jobs, asking.caller(), asked.jobs));
  size_t left = kMostLookedAt;
  const size_t runs = std::min<size_t>(asked.runs, kMostRunning);
  for (JobId job : named) {
    if (!jobs.CheckRight(asking.caller(), job)) continue;
    const KnownJobs::Job* entry = jobs.known().Find(job);
    if (entry == nullptr || entry->finished) continue;
    // Tasks that a node was given are next.
    Why waits = nodes.Complete(jobs.engine().WhyStalled(job, asking.now));
    const bool may_start = waits.empty() && entry->held == HoldReason::kNone;
    Why here = may_start ? nodes.WhyHeldUp(job) : Why();
    if (waits.empty() && here.empty()) {
      waits = nodes.Complete(jobs.engine().WhyWaits(job, asking.now));
    }
    AddPools(jobs.engine(), hub.pools, job, jobs.engine().NewestRequest(job), waits);
    if (waits.empty()) waits = std::move(here);
    wire::JobNow now{job,
                     entry->held,
                     nodes.connected(),
                     jobs.known().WhyStalled(job),
                     std::move(waits),
                     nodes.LeftRunning(job, kMostLeftRunning),
                     /*bash=*/false,
                     {}};
    for (auto& [index, of_task] :
         RunsOf(jobs.engine(), nodes, job, [](const AttemptRef&) { return true; }, runs)) {
      std::ranges::move(of_task, std::back_inserter(now.running));
    }
    if (asked.shell && named.size() == 1) {  // it is read from disk
      auto settings = TRY(jobs.hub().SettingsOf(job));
      now.bash = settings->bash;
    }
    asking.SendAnswer(std::move(now));
    if (--left == 0) break;
  }
  asking.End();
  return {};
}

}  // namespace

extern const HubQuestion kLookAtJobs = QuestionOf<wire::LookAtJobs, Answer>(
    {.who = kOwner, .cost = kNamedRuns, .tells = "why others go before"});

}  // namespace spate::hub
