// Credentials.
#include "hub/answers/look.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ListAccess&) {
  for (const AccessFacts& each : FactsOfAccess(hub.access, asking.wall))
    return asking.EndWith(each);
}

}  // namespace

extern const HubQuestion kListAccess =
    QuestionOf<wire::ListAccess, Answer>({.who = kAdmin, .cost = {.user = 1'500}, .tells = "all"});

}  // namespace spate::hub
