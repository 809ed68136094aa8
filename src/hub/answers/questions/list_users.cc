// Users, and what they use.
#include "hub/answers/look.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ListUsers& asked) {
  for (const UserFacts& user : FactsOfUsers(hub.jobs, asked.user)) return asking.EndWith(user);
}

}  // namespace

extern const HubQuestion kListUsers = QuestionOf<wire::ListUsers, Answer>(
    {.who = kAnybody, .cost = {.job = 800, .user = 1'500}, .tells = "shares, limits and counts"});

}  // namespace spate::hub
