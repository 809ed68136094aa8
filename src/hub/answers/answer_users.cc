// Answers about users and credentials, and changes of them.
#include <fmt/format.h>

#include <string>

#include "access/access_file.h"
#include "core/model/name.h"
#include "hub/answers/answers.h"
#include "hub/answers/look.h"

namespace spate::hub {
namespace {

Result<access::Access> AccessFor(const Asking& asking, const Self& self,
                                 const std::function<Result<Bytes32>()>& make_secret,
                                 const wire::AddAccess& asked) {
  access::Access access;
  access.hubs = self.reached_at;
  if (access.hubs.empty()) {
    return Fail(ErrorKind::kUnavailable,
                "the hub listens only at its socket on this machine, where no access file is "
                "needed; for other machines, start it with --listen '*'");
  }
  bool known = asked.role >= 1 && asked.role <= static_cast<uint32_t>(access::Role::kAdmin);
  if (!known) return Fail(ErrorKind::kInvalid, "there is no such role");
  auto secret = TRY(make_secret());
  access.pin = self.pin;
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

// A group is made by giving it limits, so that a mistyped name does not become one.
Status CheckGroup(const Jobs& jobs, const wire::SetUser& asked) {
  const auto group = asked.change.Get(asked.change.values.group);
  if (IsGroup(asked.user)) {
    if (group && !group->empty()) {
      return Fail(ErrorKind::kInvalid, "a group of users cannot be in a group");
    }
    if (asked.change.Sets(asked.change.values.max_output)) {
      return Fail(ErrorKind::kInvalid, "--max-output is a limit of users, not of groups");
    }
    if (asked.change.Get(asked.change.values.may_add_pools).value_or(false)) {
      return Fail(ErrorKind::kInvalid, "--may is a right of users, not of groups");
    }
    // A known group stays usable, whatever its name is.
    if (!jobs.KnowsRule(asked.user)) (void)TRY(ReadName(asked.user.substr(1), "name of a group"));
    return {};
  }
  if (!group || group->empty() || jobs.KnowsRule(*group)) return {};
  return Fail(ErrorKind::kNotFound,
              fmt::format("there is no group '{}'; setting its share makes it", *group),
              See(fmt::format("hub user '{}' --weight 1", *group)));
}

}  // namespace

Status Answer(Asking& asking, const Jobs& jobs, const wire::ListUsers& asked) {
  for (const UserFacts& user : FactsOfUsers(jobs, asked.user)) asking.Give(user);
  asking.End();
  return {};
}

Status Answer(Asking& asking, Jobs& jobs, const wire::SetUser& asked) {
  TRY(CheckGroup(jobs, asked));
  auto rule = TRY(jobs.ChangeUser(asked.user, asked.change));
  asking.EndWhenSettled(wire::SetUser::Answer{std::move(rule)});
  return {};
}

Status Answer(Asking& asking, const Credentials& access, const wire::ListAccess&) {
  for (const AccessFacts& each : FactsOfAccess(access, asking.wall)) asking.Give(each);
  asking.End();
  return {};
}

Status Answer(Asking& asking, Credentials& access, const Self& self,
              const std::function<Result<Bytes32>()>& make_secret, const wire::AddAccess& asked) {
  auto made = TRY(AccessFor(asking, self, make_secret, asked));
  // It gets its serial before it is written down.
  access.Add(made, [](Status) {});
  asking.EndWhenSettled(wire::NewAccess{made.serial, access::FormatAccess(made)});
  return {};
}

Status Answer(Asking& asking, Credentials& access, const wire::RevokeAccess& asked) {
  for (uint64_t serial : asked.serials) {
    if (access.Revoke(serial, [](Status) {})) continue;
    return Fail(ErrorKind::kNotFound, fmt::format("no access {} to revoke", serial),
                See("hub access list"));
  }
  asking.EndWhenSettled(wire::Done());
  return {};
}

}  // namespace spate::hub
