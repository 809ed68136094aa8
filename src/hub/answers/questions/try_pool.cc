// Tries a pool, as AddPool does.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::TryPool& asked) {
  hub.pools.Try(asking.caller(), asked.name, asking.GiveLater<PoolTrial>());
  return {};
}

}  // namespace

extern const HubQuestion kTryPool =
    QuestionOf<wire::TryPool, Answer>({.who = kOwner, .cost = kOneJob});

}  // namespace spate::hub
