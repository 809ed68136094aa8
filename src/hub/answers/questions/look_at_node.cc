// A look at a node, for a port of its own.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts&, Asking&, const wire::LookAtNode&) {
  return Fail(ErrorKind::kInvalid, "only a node's own port takes that");
}

}  // namespace

extern const HubQuestion kLookAtNode = QuestionOf<wire::LookAtNode, Answer>({.who = kNobody});

}  // namespace spate::hub
