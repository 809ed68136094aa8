#include "hub/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "access/access_file.h"
#include "access/proof.h"
#include "base/units.h"
#include "hub/look.h"
#include "hub/service.h"

namespace spate::hub {
namespace {

constexpr uint32_t kMostAtOnce = 1'000;

Status NeedAdmin(const QueryCall& call) {
  if (call.caller().is_admin) return {};
  return Fail(ErrorKind::kPermission,
              "only the hub's administrators may do that: whoever runs it, root on its machine, "
              "and access files with the role admin");
}

Error UnknownNode(const std::string& name) {
  return {ErrorKind::kNotFound,
          fmt::format("the hub knows no node '{}'; see: spate node list", EscapeForScreen(name))};
}

// ---- Questions ---------------------------------------------------------------------------------

Status Answer(QueryCall&, const wire::UnknownQuestion&) {
  return Fail(ErrorKind::kInvalid,
              "this hub is older than your program, and does not know what was asked");
}

template <wire::OfJournal Q>
Status Answer(QueryCall& call, const Q& asked) {
  call.client.Read(wire::Query{asked});
  return {};
}

Status Answer(QueryCall& call, const wire::LookAtHub&) {
  call.Give(FactsOfHub(call.service));
  call.End();
  return {};
}

Status Answer(QueryCall& call, const wire::LookAtAll& asked) {
  // All of it is one message.
  call.Give(FactsOfAll(call.service, call.caller(), std::min(asked.most, kMostAtOnce)));
  call.End();
  return {};
}

Status Answer(QueryCall& call, const wire::ListNodes& asked) {
  std::vector<NodeFacts> nodes = FactsOfNodes(call.service, asked.removed);
  std::vector<std::string> names = asked.names;
  std::ranges::sort(names);
  auto is_asked = [&](const std::string& name) { return std::ranges::binary_search(names, name); };
  for (const std::string& name : names) {
    if (call.service.nodes().FindByName(name) == nullptr) return std::unexpected(UnknownNode(name));
  }
  for (const NodeFacts& node : nodes) {
    if (names.empty() || is_asked(node.name)) call.Give(node);
  }
  call.End();
  return {};
}

Status Answer(QueryCall& call, const wire::ListUsers& asked) {
  for (const UserFacts& user : FactsOfUsers(call.service, asked.user)) call.Give(user);
  call.End();
  return {};
}

Status Answer(QueryCall& call, const wire::ListAccess&) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  for (const AccessFacts& access : FactsOfAccess(call.service)) call.Give(access);
  call.End();
  return {};
}

// ---- Changes -----------------------------------------------------------------------------------

Result<std::vector<NodeId>> PickNodes(const QueryCall& call, const wire::ChangeNodes& asked) {
  std::vector<NodeId> picked;
  for (const auto& [id, node] : call.service.nodes().all()) {
    if (asked.all && !node.row.removed) picked.push_back(id);
  }
  for (const std::string& name : asked.names) {
    const Nodes::Node* node = call.service.nodes().FindByName(name);
    if (node == nullptr) return std::unexpected(UnknownNode(name));
    picked.push_back(node->row.id);
  }
  std::ranges::sort(picked);
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

void Change(Service& service, NodeId node, wire::ChangeNodes::Change change) {
  switch (change) {
    case wire::ChangeNodes::Change::kDrain:
      return service.hub().Post(engine::DrainNode{node});
    case wire::ChangeNodes::Change::kResume:
      service.nodes().Remove(node, Nodes::Removal::kNone);
      service.hub().Post(engine::UndrainNode{node});
      return service.hub().Post(engine::ClearSick{node, JobId()});
    case wire::ChangeNodes::Change::kRemove:
      return service.nodes().Remove(node, Nodes::Removal::kEnds);
    case wire::ChangeNodes::Change::kTurnAway:
      return service.nodes().Remove(node, Nodes::Removal::kWaits);
  }
}

const char* AnswerWord(wire::ChangeNodes::Change change) {
  switch (change) {
    case wire::ChangeNodes::Change::kDrain:
      return "drains";
    case wire::ChangeNodes::Change::kResume:
      return "resumes";
    case wire::ChangeNodes::Change::kRemove:
    case wire::ChangeNodes::Change::kTurnAway:
      return "removes";
  }
  return "changes";
}

void NoteReason(const QueryCall& call, NodeId node, const wire::ChangeNodes& asked) {
  const std::string& name = call.service.nodes().all().at(node).row.name;
  call.service.Log(fmt::format("{} {} node {}: {}", EscapeForScreen(call.caller().user),
                               AnswerWord(asked.change), EscapeForScreen(name),
                               EscapeForScreen(asked.reason)));
}

Status Answer(QueryCall& call, const wire::ChangeNodes& asked) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  auto picked = PickNodes(call, asked);
  if (!picked) return std::unexpected(picked.error());
  for (NodeId node : *picked) {
    Change(call.service, node, asked.change);
    if (!asked.reason.empty()) NoteReason(call, node, asked);
  }
  call.EndWhenSettled(wire::Done());
  return {};
}

Status Answer(QueryCall& call, const wire::StopHub&) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  call.End();
  call.service.loop().Post([service = &call.service] { service->Stop(); });
  return {};
}

Result<access::Access> AccessFor(const QueryCall& call, const wire::AddAccess& asked) {
  access::Access access;
  access.hubs = call.service.self().reached_at;
  if (access.hubs.empty()) {
    return Fail(ErrorKind::kUnavailable,
                "the hub listens only at its socket on this machine, where no access file is "
                "needed; start it with --listen HOST to be reached by others");
  }
  bool known = asked.role >= 1 && asked.role <= static_cast<uint32_t>(access::Role::kAdmin);
  if (!known) return Fail(ErrorKind::kInvalid, "there is no such role");
  auto secret = access::MakeRandom();
  if (!secret) return std::unexpected(secret.error());
  access.pin = call.service.identity().pin();
  access.secret = *secret;
  access.role = static_cast<access::Role>(asked.role);
  access.user = asked.user.empty() ? call.caller().user : asked.user;
  if (access.user == access::kEveryUser && access.role != access::Role::kNode) {
    return Fail(ErrorKind::kInvalid, "--user '*' is for nodes only (--role node)");
  }
  if (asked.lifetime) access.expires = call.service.now() + *asked.lifetime;
  return access;
}

Status Answer(QueryCall& call, const wire::AddAccess& asked) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  auto access = AccessFor(call, asked);
  if (!access) return std::unexpected(access.error());
  // It gets its serial before it is written down.
  call.service.access().Add(*access, [](Status) {});
  call.EndWhenSettled(wire::NewAccess{access->serial, access::FormatAccess(*access)});
  return {};
}

Status Answer(QueryCall& call, const wire::RevokeAccess& asked) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  for (uint64_t serial : asked.serials) {
    if (!call.service.access().Revoke(serial, [](Status) {})) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("there is no access {} that could be revoked; see: spate hub access "
                              "list",
                              serial));
    }
    call.service.DropClientsOf(serial, "this access was revoked");
  }
  call.EndWhenSettled(wire::Done());
  return {};
}

Status Answer(QueryCall& call, const wire::SetUser& asked) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  UserRule rule;
  for (const UserFacts& user : FactsOfUsers(call.service, asked.user)) rule = user.rule;
  rule.weight = asked.weight.value_or(rule.weight);
  rule.max_running = asked.max_running.value_or(rule.max_running);
  rule.max_queued = asked.max_queued.value_or(rule.max_queued);
  rule.max_output = asked.max_output.value_or(rule.max_output);
  call.service.hub().Post(engine::SetUser{asked.user, rule});
  call.EndWhenSettled(wire::SetUser::Answer{rule});
  return {};
}

Status Answer(QueryCall& call, const wire::SetHub& asked) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  Hub& hub = call.service.hub();
  const GangPolicy policy = asked.policy.value_or(hub.engine().gang_policy());
  hub.Post(engine::ChangeGangPolicy{policy});
  call.EndWhenSettled(wire::SetHub::Answer{policy});
  return {};
}

}  // namespace

void AnswerQuery(Service& service, ClientSession& client, wire::Query query) {
  QueryCall call{service, client};
  // Neither the client nor the hub outlive some answers.
  auto answered =
      std::visit([&](const auto& asked) { return Answer(call, asked); }, query.question);
  if (!answered) client.Fail(answered.error());
}

}  // namespace spate::hub
