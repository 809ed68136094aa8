// Answers about nodes, and changes of them.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "hub/answers/answers.h"
#include "hub/answers/look.h"

namespace spate::hub {
namespace {

Error UnknownNode(const std::string& name) {
  return {ErrorKind::kNotFound, fmt::format("the hub knows no node '{}'", EscapeForScreen(name)),
          See("node list")};
}

Result<std::vector<NodeId>> PickNodes(const Nodes& nodes, const wire::ChangeNodes& asked) {
  std::vector<NodeId> picked;
  for (const auto& [id, node] : nodes.all()) {
    if (asked.all && !node.row.removed) picked.push_back(id);
  }
  for (const std::string& name : asked.names) {
    const Nodes::Node* node = nodes.FindByName(name);
    if (node == nullptr) return std::unexpected(UnknownNode(name));
    picked.push_back(node->row.id);
  }
  std::ranges::sort(picked);
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

void Change(Hub& hub, Nodes& nodes, NodeId node, const wire::ChangeNodes& asked) {
  switch (asked.change) {
    case wire::ChangeNodes::Change::kDrain:
      return hub.Post(engine::DrainNode{node, asked.reason});
    case wire::ChangeNodes::Change::kResume:
      nodes.Remove(node, Nodes::Removal::kNone);
      hub.Post(engine::UndrainNode{node});
      return hub.Post(engine::ClearSick{node, JobId()});
    case wire::ChangeNodes::Change::kRemove:
      return nodes.Remove(node, Nodes::Removal::kEnds);
    case wire::ChangeNodes::Change::kTurnAway:
      return nodes.Remove(node, Nodes::Removal::kWaits);
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

std::string ReasonLine(const Asking& asking, const std::string& node,
                       const wire::ChangeNodes& asked) {
  return fmt::format("{} {} node {}: {}", EscapeForScreen(asking.caller().user),
                     AnswerWord(asked.change), EscapeForScreen(node),
                     EscapeForScreen(asked.reason));
}

}  // namespace

Status Answer(Asking& asking, const Jobs& jobs, const Nodes& nodes, const wire::ListNodes& asked) {
  std::vector<NodeFacts> all = FactsOfNodes(jobs, nodes, asked.removed, asking.caller());
  std::vector<std::string> names = asked.names;
  std::ranges::sort(names);
  auto is_asked = [&](const std::string& name) { return std::ranges::binary_search(names, name); };
  for (const std::string& name : names) {
    if (nodes.FindByName(name) == nullptr) return std::unexpected(UnknownNode(name));
  }
  for (const NodeFacts& node : all) {
    if (names.empty() || is_asked(node.name)) asking.Give(node);
  }
  asking.End();
  return {};
}

Status Answer(Asking& asking, Hub& hub, Nodes& nodes, const WriteLog& log,
              const wire::ChangeNodes& asked) {
  auto picked = TRY(PickNodes(nodes, asked));
  for (NodeId node : picked) {
    Change(hub, nodes, node, asked);
    if (!asked.reason.empty()) log(ReasonLine(asking, nodes.all().at(node).row.name, asked));
  }
  asking.EndWhenSettled(wire::Done());
  return {};
}

Status Answer(Asking& asking, const Nodes& nodes, NodeCalls& calls, const wire::AskNode& asked) {
  if (nodes.FindByName(asked.node) == nullptr) return std::unexpected(UnknownNode(asked.node));
  const Caller& caller = asking.caller();
  PassOn(asking, calls, asked.node,
         {.question = asked.question,
          .user = caller.user,
          .admin = caller.is_admin,
          .body = asked.body});
  return {};
}

void PassOn(Asking& asking, NodeCalls& calls, const std::string& node, wire::Ask ask) {
  auto told = std::make_shared<Result<wire::AnswerPiece>>();
  auto tell = asking.client.Guarded([client = &asking.client, told] {
    if (!*told) return client->Fail(told->error());
    client->GiveBytes(std::move((*told)->bytes));
    client->End();
  });
  calls.Ask(node, asking.caller().user, std::move(ask),
            [told, tell](Result<wire::AnswerPiece> answer) {
              *told = std::move(answer);
              tell();
            });
}

}  // namespace spate::hub
