// Adds a pool when the batch system has passed it.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Check(const wire::AddPool& asked) {
  constexpr size_t kMostVariables = 16;
  if (asked.variables.size() > kMostVariables) return wire::Defect("variables", "are too many");
  for (const PoolVariable& each : asked.variables) {
    TRY(wire::CheckName("variables", each.name));
    const bool is_long = each.value.size() > wire::kWireLimits.name_bytes;
    if (is_long) return wire::Defect("variables", "have long values");
  }
  return wire::CheckWish(asked.wish);
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::AddPool& asked) {
  hub.pools.Add(asking.caller(), asked, asking.GiveLater<PoolTrial>());
  return {};
}

}  // namespace

extern const HubQuestion kAddPool =
    QuestionOf<wire::AddPool, Answer, Check>({.who = kPools, .cost = kOneJob});

}  // namespace spate::hub
