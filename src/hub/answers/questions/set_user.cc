// Sets the share, limits and rights of a user, or a group.
#include <fmt/format.h>

#include "core/model/name.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Check(const wire::SetUser& asked) {
  if (asked.user.empty()) return wire::Defect("user", "is missing");
  if (asked.user == "@") return wire::Defect("group", "has no name");
  const UserRule rule = wire::SetBy(asked.change);
  TRY(wire::CheckValues(rule));
  return wire::CheckName("group", rule.group);
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
              SeeAlso(fmt::format("hub user '{}' --weight 1", *group)));
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::SetUser& asked) {
  Jobs& jobs = hub.jobs;
  TRY(CheckGroup(jobs, asked));
  auto rule = TRY(jobs.ChangeUser(asked.user, asked.change));
  return asking.EndWhenSettled(wire::SetUser::Answer{std::move(rule)});
}

}  // namespace

extern const HubQuestion kSetUser = QuestionOf<wire::SetUser, Answer, Check>({.who = kAdmin});

}  // namespace spate::hub
