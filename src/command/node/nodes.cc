#include "command/node/nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/options/shared.h"

namespace spate::cli {
namespace {

bool NamesAll(const Words& words) {
  return std::ranges::find(words.words, "all") != words.words.end();
}

}  // namespace

Result<std::vector<NodeFacts>> AskNodes(const HubScreen& screen) {
  wire::ListNodes question;
  if (!NamesAll(screen.words)) question.names = screen.words.words;
  std::vector<NodeFacts> nodes;
  TRY(client::Query(screen.hub, std::move(question),
                    [&](NodeFacts node) { nodes.push_back(std::move(node)); }));
  return nodes;
}

const char* UserText(const NodeFacts& node, const char* everybody) {
  return node.user == "*" ? everybody : node.user.c_str();
}

Result<int> ChangeNodes(const HubScreen& screen, wire::ChangeNodes::Change change,
                        std::string_view done) {
  wire::ChangeNodes question{
      .names = screen.words.words, .all = NamesAll(screen.words), .change = change};
  question.reason = TRY(screen.Reason(opt::kReason));
  std::erase(question.names, "all");
  TRY(client::QueryOne(screen.hub, std::move(question)));
  screen.Report(fmt::format("{}: {}", fmt::join(screen.words.words, ", "), done));
  return kExitSuccess;
}

}  // namespace spate::cli
