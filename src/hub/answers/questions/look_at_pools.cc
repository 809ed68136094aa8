// Pools, and their pilots.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::LookAtPools& asked) {
  return asking.GiveAll(hub.pools.Describe(asking.caller(), asked.names, asked.pilots));
}

}  // namespace

extern const HubQuestion kLookAtPools = QuestionOf<wire::LookAtPools, Answer>(
    {.who = kAnybody, .cost = kOneJob, .tells = "pools that serve all"});

}  // namespace spate::hub
