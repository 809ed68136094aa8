// `spate node list`
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/node/nodes.h"
#include "present/json/json_fields.h"
#include "present/table/table.h"
#include "present/text/node_note.h"

namespace spate::cli::command {
namespace {

std::vector<present::Cell> RowOf(const NodeFacts& node) {
  return {{node.name},
          {node.state, node.state == "ready" ? present::Tone::kGood : present::Tone::kDoubtful},
          {UserText(node, "all")},
          {fmt::format("{}", node.slots)},
          {fmt::format("{:g}", node.cpus)},
          {node.memory == 0 ? "" : FormatSize(node.memory)},
          {fmt::format("{}", node.tasks)},
          {node.machine ? fmt::format("{:.1f}", node.machine->load) : ""},
          {fmt::format("{}", node.ended)},
          {fmt::format("{}", node.failed)},
          {present::NodeNote(node)}};
}

std::string TableOf(const HubScreen& screen, const std::vector<NodeFacts>& nodes) {
  std::string text;
  present::Table table({{"NODE", present::Align::kLeft, 8},
                        {"STATE"},
                        {"USER", present::Align::kLeft, 6},
                        {"SLOTS", present::Align::kRight},
                        {"CPUS", present::Align::kRight},
                        {"MEMORY", present::Align::kRight},
                        {"TASKS", present::Align::kRight},
                        {"LOAD", present::Align::kRight},
                        {"ENDED", present::Align::kRight},
                        {"FAILED", present::Align::kRight},
                        {"NOTE", present::Align::kLeft, 8}},
                       screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  for (const NodeFacts& node : nodes) table.Add(RowOf(node));
  table.Finish();
  return text;
}

Result<int> List(const HubScreen& screen) {
  auto nodes = TRY(AskNodes(screen));
  std::string text;
  if (screen.human()) text = TableOf(screen, nodes);
  for (const NodeFacts& node : nodes) {
    if (screen.form == OutputForm::kQuiet) text += EscapeForScreen(node.name) + "\n";
    if (screen.form == OutputForm::kJson) text += present::JsonOf("node", node);
  }
  auto written = screen.Write(text);
  if (!written) return written;
  if (nodes.empty() && screen.human()) {
    screen.Report("no node has joined; start one, here or elsewhere: spate node start --daemon");
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kNodeList = {
    .order = 370,
    .group = CommandGroup::kNodes,
    .name = "node list",
    .arguments = "[NODE...]",
    .completes = Completes::kNodes,
    .summary = "list the nodes of the hub",
    .details = "",
    .examples = {{{"spate node list", "all nodes"}, {"spate node list --json", "for programs"}}},
    .options = {{opt::kAboutHub}},
    .run = AskHub<List>,
};

}  // namespace spate::cli::command
