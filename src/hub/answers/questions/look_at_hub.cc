// The hub itself.
#include "hub/answers/look.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::LookAtHub&) {
  return asking.EndWith(FactsOfHub(hub));
}

}  // namespace

extern const HubQuestion kLookAtHub =
    QuestionOf<wire::LookAtHub, Answer>({.who = kAnybody,
                                         .cost = {.node = 100, .job = 800, .user = 300},
                                         .tells = "how many jobs, tasks and nodes there are"});

}  // namespace spate::hub
