// Makes an access file.
#include <fmt/format.h>

#include "access/access_file.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Result<access::Access> AccessFor(const AnswerParts& hub, const Asking& asking,
                                 const wire::AddAccess& asked) {
  access::Access access;
  access.hubs = hub.self.reached_at;
  if (access.hubs.empty()) {
    return Fail(ErrorKind::kUnavailable,
                "the hub listens only at its socket on this machine, where no access file is "
                "needed; for other machines, start it with --listen '*'");
  }
  bool known = asked.role >= 1 && asked.role <= static_cast<uint32_t>(access::Role::kAdmin);
  if (!known) return Fail(ErrorKind::kInvalid, "there is no such role");
  auto secret = TRY(hub.make_secret());
  access.pin = hub.self.pin;
  access.secret = secret;
  access.role = static_cast<access::Role>(asked.role);
  access.user = asked.user.empty() ? asking.caller().user : asked.user;
  if (IsGroup(access.user)) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is a group; access is given to users", access.user));
  }
  if (access.user == access::kEveryUser && access.role != access::Role::kNode) {
    return Fail(ErrorKind::kInvalid, "--user '*' is for nodes only (--role node)");
  }
  if (asked.lifetime) access.expires = asking.wall + *asked.lifetime;
  return access;
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::AddAccess& asked) {
  auto made = TRY(AccessFor(hub, asking, asked));
  // It gets its serial before it is written down.
  hub.access.Add(made, [](Status) {});
  return asking.EndWhenSettled(wire::NewAccess{made.serial, access::FormatAccess(made)});
}

}  // namespace

extern const HubQuestion kAddAccess = QuestionOf<wire::AddAccess, Answer>({.who = kAdmin});

}  // namespace spate::hub
