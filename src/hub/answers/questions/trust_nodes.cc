// Nodes on which tasks of a job failed get tasks of it again.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::TrustNodes& asked) {
  Jobs& jobs = hub.jobs;
  TRY(jobs.CheckUsable(asking.caller(), asked.job));
  if (!TRY(asking.client.MayChange(1))) return {};
  jobs.hub().Post(engine::ClearSick{NodeId(), asked.job});
  if (jobs.engine().Held(asked.job) == engine::HoldReason::kAllFail) {
    jobs.hub().Post(engine::ReleaseJob{asked.job});
    jobs.known().Held(asked.job, engine::HoldReason::kNone);
  }
  return asking.EndWhenSettled(wire::Done());
}

}  // namespace

extern const HubQuestion kTrustNodes =
    QuestionOf<wire::TrustNodes, Answer>({.who = kOwner, .cost = {.node = 500}});

}  // namespace spate::hub
