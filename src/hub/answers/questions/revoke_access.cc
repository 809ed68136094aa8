// Makes credentials invalid.
#include <fmt/format.h>

#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::RevokeAccess& asked) {
  for (uint64_t serial : asked.serials) {
    if (hub.access.Revoke(serial, [](Status) {})) continue;
    return Fail(ErrorKind::kNotFound, fmt::format("no access {} to revoke", serial),
                SeeAlso("hub access list"));
  }
  return asking.EndWhenSettled(wire::Done());
}

}  // namespace

extern const HubQuestion kRevokeAccess = QuestionOf<wire::RevokeAccess, Answer>({.who = kAdmin});

}  // namespace spate::hub
