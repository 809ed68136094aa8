// Resets the counts of a job.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ResetCounts& asked) {
  Jobs& jobs = hub.jobs;
  TRY(jobs.CheckUsable(asking.caller(), asked.job));
  jobs.known().ResetCounts(asked.job);
  return asking.EndWith(wire::Done());
}

}  // namespace

extern const HubQuestion kResetCounts =
    QuestionOf<wire::ResetCounts, Answer>({.who = kOwner, .cost = kOneJob});

}  // namespace spate::hub
