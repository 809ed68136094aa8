// The nodes, and what is used of each.
#include <algorithm>

#include "hub/answers/look.h"
#include "hub/answers/pick.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ListNodes& asked) {
  const Nodes& nodes = hub.nodes;
  std::vector<NodeFacts> all = FactsOfNodes(hub.jobs, nodes, asked.removed, asking.caller());
  std::vector<std::string> names = asked.names;
  std::ranges::sort(names);
  auto is_asked = [&](const std::string& name) { return std::ranges::binary_search(names, name); };
  for (const std::string& name : names) {
    if (nodes.FindByName(name) == nullptr) return std::unexpected(UnknownNode(name));
  }
  for (const NodeFacts& node : all) {
    if (names.empty() || is_asked(node.name)) asking.SendAnswer(node);
  }
  asking.End();
  return {};
}

}  // namespace

extern const HubQuestion kListNodes =
    QuestionOf<wire::ListNodes, Answer>({.who = kAnybody,
                                         .cost = {.node = 2'500, .run = 250},
                                         .tells = "how much of each node is used"});

}  // namespace spate::hub
