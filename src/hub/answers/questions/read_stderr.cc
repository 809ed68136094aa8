// The stderr of a task, where that stays on its node.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ReadStderr& asked) {
  TRY(hub.jobs.CheckRight(asking.caller(), asked.job));
  const KnownJobs::Job* job = hub.jobs.known().Find(asked.job);
  PassOn(asking, hub.calls, asked.node,
         {.question = asked.kNumber, .user = job->user, .body = wire::BytesOf(asked)});
  return {};
}

}  // namespace

extern const HubQuestion kReadStderr =
    QuestionOf<wire::ReadStderr, Answer>({.who = kOwner, .cost = kOneJob});

}  // namespace spate::hub
