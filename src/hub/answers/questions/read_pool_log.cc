// Happenings to a pool, the newest.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ReadPoolLog& asked) {
  return asking.GiveAll(hub.pools.Log(asking.caller(), asked.name, asked.most));
}

}  // namespace

extern const HubQuestion kReadPoolLog = QuestionOf<wire::ReadPoolLog, Answer>(
    {.who = kAnybody, .cost = kOneJob, .tells = "pools that serve all"});

}  // namespace spate::hub
