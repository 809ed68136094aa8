#include "node/task_users.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace spate::node {
namespace {

// Below are the users of the system, as on all larger distributions.
constexpr uint32_t kFirstPerson = 1000;
// A name that is not known is asked for with each of its tasks: that must not take long either.
constexpr Duration kKeepFailed = Duration::Seconds(10);

std::unexpected<Error> Refuse(std::string text) {
  return Fail(ErrorKind::kPermission, std::move(text));
}

}  // namespace

Result<shepherd::TaskUser> LookUpUser(const std::string& name) {
  auto account = TRY(os::AccountByName(name));
  auto groups = TRY(os::GroupsOf(account));
  return shepherd::TaskUser{account.user, account.group, std::move(groups),
                            account.name, account.home,  account.shell};
}

KnownUsers::KnownUsers(os::Loop& loop, UserLookUp look_up, Duration keep)
    : loop_(loop), look_up_(std::move(look_up)), keep_(keep) {}

bool KnownUsers::Knows(const std::string& name) {
  std::erase_if(known_, [&](const auto& each) { return each.second.until <= loop_.Now(); });
  return known_.contains(name);
}

void KnownUsers::Cache(const std::string& name, Result<shepherd::TaskUser> found) {
  Duration good_for = found ? keep_ : std::min(keep_, kKeepFailed);
  known_.insert_or_assign(name, Known{std::move(found), loop_.Now() + good_for});
}

void KnownUsers::LookUp(const std::string& name, std::function<void()> then) {
  Asked& asked = asked_[name];
  asked.waiting.push_back(std::move(then));
  if (asked.work) return;
  std::function<Result<shepherd::TaskUser>()> work = [look_up = look_up_, name] {
    return look_up(name);
  };
  auto done = [this, name](Result<shepherd::TaskUser> found) {
    Cache(name, std::move(found));
    auto answered = asked_.extract(name);
    for (const auto& tell : answered.mapped().waiting) tell();
  };
  asked.work = std::make_unique<os::Aside<shepherd::TaskUser>>(loop_, std::move(work), done);
}

Result<shepherd::TaskUser> KnownUsers::Find(const std::string& name) {
  if (!Knows(name)) Cache(name, look_up_(name));
  return known_.at(name).user;
}

Result<std::optional<shepherd::TaskUser>> TaskUserFor(const std::string& user,
                                                      const TaskUserRules& rules) {
  std::string shown = EscapeForScreen(user);
  if (rules.own != 0) {
    auto self = os::AccountById(rules.own);
    if (user.empty() || (self && self->name == user)) return std::nullopt;
    return Refuse(
        fmt::format("the node runs as '{0}' and cannot run tasks of '{1}': start it as "
                    "root, or send the job as '{0}'",
                    self ? self->name : fmt::format("uid {}", rules.own), shown));
  }
  auto account = rules.look_up(AccountOf(user));
  if (!account) {
    return Refuse(fmt::format(
        "cannot run tasks of '{}': {}; add an account on the node, or exclude the node for the job",
        shown, account.error().message));
  }
  if (account->user == 0) {
    if (rules.allow_root) return std::nullopt;
    return Refuse(
        "the node runs no tasks as root: send the job as another user, or start the node with "
        "--allow-root");
  }
  if (account->user < kFirstPerson) {
    return Refuse(
        fmt::format("'{}' is a system user (uid {}), but the node runs only tasks of ordinary "
                    "users; submit the job as another user",
                    shown, account->user));
  }
  const std::vector<std::string>& may = rules.users;
  if (!may.empty() && std::find(may.begin(), may.end(), user) == may.end()) {
    return Refuse(
        fmt::format("the node runs no tasks of '{}': it would have to be among its "
                    "--users",
                    shown));
  }
  return std::optional<shepherd::TaskUser>(std::move(*account));
}

}  // namespace spate::node
