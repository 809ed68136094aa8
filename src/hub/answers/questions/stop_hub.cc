// Ends the hub.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::StopHub&) {
  asking.End();
  hub.jobs.loop().Post([stop = hub.stop_asked] { stop(); });
  return {};
}

}  // namespace

extern const HubQuestion kStopHub = QuestionOf<wire::StopHub, Answer>({.who = kAdmin});

}  // namespace spate::hub
