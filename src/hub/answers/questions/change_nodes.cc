// Drains, resumes or removes nodes.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "hub/answers/pick.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Check(const wire::ChangeNodes& asked) {
  const bool is_long = asked.reason.size() > wire::kWireLimits.name_bytes;
  return is_long ? wire::Defect("reason", "is too long") : Status();
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

void ChangeNode(Hub& hub, Nodes& nodes, NodeId node, const wire::ChangeNodes& asked) {
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

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ChangeNodes& asked) {
  Nodes& nodes = hub.nodes;
  auto picked = TRY(PickNodes(nodes, asked));
  for (NodeId node : picked) {
    ChangeNode(hub.jobs.hub(), nodes, node, asked);
    if (!asked.reason.empty()) hub.log(ReasonLine(asking, nodes.all().at(node).row.name, asked));
  }
  return asking.EndWhenSettled(wire::Done());
}

}  // namespace

extern const HubQuestion kChangeNodes =
    QuestionOf<wire::ChangeNodes, Answer, Check>({.who = kAdmin, .cost = {.node = 2'500}});

}  // namespace spate::hub
