// The variables of a job's tasks, for a shell like one of them.
#include "wire/read_environment.h"

#include "hub/answers/pick.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ReadEnvironment& asked) {
  Jobs& jobs = hub.jobs;
  const auto job = TRY(PickJob(jobs, asking.caller(), asked.task));
  TRY(CheckIsOwner(jobs, asking.caller(), job, "read the environment of its tasks"));
  const auto settings = TRY(jobs.hub().SettingsOf(job));
  asking.SendAnswer(wire::ReadEnvironment::Answer{job, settings->environment});
  asking.End();
  return {};
}

}  // namespace

extern const HubQuestion kReadEnvironment = QuestionOf<wire::ReadEnvironment, Answer>(
    {.who = kOwnerAlone, .cost = {.once = 100'000, .named = 20'000}});

}  // namespace spate::hub
