// Pauses, resumes, removes pools, or sets what they are.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ChangePools& asked) {
  TRY(hub.pools.Change(asking.caller(), asked));
  hub.pools.WhenDurable(asking.client.Guarded([client = &asking.client] {
    client->Give(wire::Done());
    client->End();
  }));
  return {};
}

}  // namespace

extern const HubQuestion kChangePools =
    QuestionOf<wire::ChangePools, Answer>({.who = kOwner, .cost = kOneJob});

}  // namespace spate::hub
