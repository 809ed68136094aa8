// Adds a pool when the batch system has passed it.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::AddPool& asked) {
  hub.pools.Add(asking.caller(), asked, asking.GiveLater<PoolTrial>());
  return {};
}

}  // namespace

extern const HubQuestion kAddPool =
    QuestionOf<wire::AddPool, Answer>({.who = kPools, .cost = kOneJob});

}  // namespace spate::hub
