// A question that a node answers (node/questions.h): passed on, and its answer, unread.
#include "hub/answers/pick.h"
#include "hub/answers/question.h"
#include "wire/ask.h"

namespace spate::hub {
namespace {

Status Check(const wire::AskNode& asked) {
  return asked.body.size() > wire::kAskBytes ? wire::Defect("body", "is too long") : Status();
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::AskNode& asked) {
  if (hub.nodes.FindByName(asked.node) == nullptr) return std::unexpected(UnknownNode(asked.node));
  const Caller& caller = asking.caller();
  PassOn(asking, hub.calls, asked.node,
         {.question = asked.question,
          .user = caller.user,
          .admin = caller.is_admin,
          .body = asked.body});
  return {};
}

}  // namespace

extern const HubQuestion kAskNode = QuestionOf<wire::AskNode, Answer, Check>(
    {.who = kAnybody, .cost = kOneJob, .tells = "what its node measures of itself"});

}  // namespace spate::hub
