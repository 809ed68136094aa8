// Pauses, resumes, removes pools, or sets what they are.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Check(const wire::ChangePools& asked) {
  const bool is_long = asked.reason.size() > wire::kWireLimits.name_bytes;
  if (is_long) return wire::Defect("reason", "is too long");
  return wire::CheckWish(asked.wish);
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ChangePools& asked) {
  TRY(hub.pools.Change(asking.caller(), asked));
  hub.pools.WhenDurable(asking.client.Guarded([client = &asking.client] {
    client->SendAnswer(wire::Done());
    client->End();
  }));
  return {};
}

}  // namespace

extern const HubQuestion kChangePools =
    QuestionOf<wire::ChangePools, Answer, Check>({.who = kOwner, .cost = kOneJob});

}  // namespace spate::hub
