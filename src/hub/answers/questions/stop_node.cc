// Ends a node: for a port of its own.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts&, Asking&, const wire::StopNode&) {
  return Fail(ErrorKind::kInvalid, "only a node's own port takes that");
}

}  // namespace

extern const HubQuestion kStopNode = QuestionOf<wire::StopNode, Answer>({.who = kNobody});

}  // namespace spate::hub
