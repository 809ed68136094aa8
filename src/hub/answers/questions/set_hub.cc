// Settings of the hub for all jobs.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::SetHub& asked) {
  Hub& all = hub.jobs.hub();
  const GangPolicy policy = asked.policy.value_or(all.engine().gang_policy());
  const Duration half_life = asked.half_life.value_or(all.engine().half_life());
  if (asked.policy) all.Post(engine::ChangeGangPolicy{policy});
  if (asked.half_life) all.Post(engine::ChangeHalfLife{half_life});
  asking.EndWhenSettled(wire::SetHub::Answer{policy, half_life});
  return {};
}

}  // namespace

extern const HubQuestion kSetHub = QuestionOf<wire::SetHub, Answer>({.who = kAdmin});

}  // namespace spate::hub
