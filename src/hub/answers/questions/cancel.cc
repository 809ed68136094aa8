// Cancels jobs, or tasks.
#include <map>

#include "hub/answers/pick.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::Cancel& asked) {
  Jobs& jobs = hub.jobs;
  std::map<JobId, std::vector<TasksOfJob>> selected;
  for (const TasksOfJob& part : asked.tasks) {
    auto job = TRY(PickJob(jobs, asking.caller(), part));
    selected[job].push_back(part);
  }
  auto picked = TRY(PickJobs(jobs, asking.caller(), asked.jobs));
  wire::Cancel::Answer done;
  done.jobs = ChangeEach(jobs, picked, [&](JobId job) { jobs.hub().Post(engine::CancelJob{job}); });
  for (const auto& [job, parts] : selected) {
    Chosen chosen = Choose(jobs, job, parts, {TaskState::kQueued, TaskState::kLeased});
    done.tasks.push_back({job, chosen.count});
    if (chosen.count == 0) continue;
    jobs.hub().Post(engine::CancelTasks{job, std::move(chosen.tasks), ""});
  }
  return asking.EndWhenSettled(std::move(done));
}

}  // namespace

extern const HubQuestion kCancel =
    QuestionOf<wire::Cancel, Answer>({.who = kOwner, .cost = kNamed});

}  // namespace spate::hub
