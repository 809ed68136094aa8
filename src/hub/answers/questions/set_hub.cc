// Settings of the hub for all jobs.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Check(const wire::SetHub& asked) {
  const Duration half_life = asked.half_life.value_or(Duration());
  const bool sound =
      half_life.ns == 0 || (half_life >= kLeastHalfLife && half_life <= wire::kWireLimits.longest);
  return sound ? Status() : wire::Defect("half_life", "is out of range");
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::SetHub& asked) {
  Hub& all = hub.jobs.hub();
  const GangPolicy policy = asked.policy.value_or(all.engine().gang_policy());
  const Duration half_life = asked.half_life.value_or(all.engine().half_life());
  if (asked.policy) all.Post(engine::ChangeGangPolicy{policy});
  if (asked.half_life) all.Post(engine::ChangeHalfLife{half_life});
  return asking.EndWhenSettled(wire::SetHub::Answer{policy, half_life});
}

}  // namespace

extern const HubQuestion kSetHub = QuestionOf<wire::SetHub, Answer, Check>({.who = kAdmin});

}  // namespace spate::hub
