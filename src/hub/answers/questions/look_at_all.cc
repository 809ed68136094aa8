// Nodes and jobs at work, for `spate top`.
#include <algorithm>

#include "hub/answers/look.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

constexpr uint32_t kMostOfAll = 1'000;

Status Answer(const AnswerParts& hub, Asking& asking, const wire::LookAtAll& asked) {
  // All of it is one message.
  return asking.EndWith(FactsOfAll(hub, asking.caller(), std::min(asked.most, kMostOfAll)));
}

}  // namespace

extern const HubQuestion kLookAtAll = QuestionOf<wire::LookAtAll, Answer>(
    {.who = kAnybody,
     .cost = {.node = 2'500, .run = 250, .job = 1'100, .user = 300},
     .tells = "user, state and counts of jobs; of tasks that run where"});

}  // namespace spate::hub
