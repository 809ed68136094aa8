// `spate node info`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/node/nodes.h"
#include "present/json/json_fields.h"
#include "present/table/time_text.h"
#include "present/text/left_text.h"
#include "present/text/node_note.h"
#include "present/text/slowed_text.h"

namespace spate::cli::command {
namespace {

std::string MachineText(const MachineLoad& machine) {
  return fmt::format(
      "load {:.1f}, {} free; tasks wait for cpu {:.0f} %, memory {:.0f} %, disks {:.0f} % of the "
      "time",
      machine.load, FormatSize(machine.free_memory), machine.cpu_pressure, machine.memory_pressure,
      machine.io_pressure);
}

std::string PageOf(const NodeFacts& node) {
  std::string text = fmt::format("Node {}\n", EscapeForScreen(node.name));
  auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10} {}\n", name, EscapeForScreen(value));
  };
  add("state", node.state + ", since " + present::DateAndTime(node.since));
  add("why", present::NodeNote(node));
  add("address", node.from);
  add("program", "spate " + node.program);
  add("serves", UserText(node, "all users"));
  add("offers", fmt::format("{} slots, {:g} cpus{}", node.slots, node.cpus,
                            node.memory > 0 ? ", " + FormatSize(node.memory) : ""));
  for (const OfferFacts& offer : node.offers) {
    add("", fmt::format("{}: {}", offer.name, fmt::join(offer.pieces, ",")));
  }
  add("labels", fmt::format("{}", fmt::join(node.labels, " ")));
  add("features", fmt::format("{}", fmt::join(node.features, " ")));
  if (node.until) add("until", present::DateAndTime(*node.until));
  add("tasks", fmt::format("{} now, {} next, {} ended, {} of them failed", node.tasks, node.next,
                           node.ended, node.failed));
  if (node.machine) add("machine", MachineText(*node.machine));
  for (const RunFacts& run : node.runs) {
    std::string told =
        fmt::format("{}.{} since {}", run.job.value, run.task, present::DateAndTime(run.since));
    if (!run.left.empty()) {
      told += ", " + present::WaitText("waits for processes that it left running: ", run.left);
    }
    add("runs", told);
  }
  for (const PartedFacts& each : node.parted) {
    add("slowed", fmt::format("jobs {} and {}, which are kept apart: {}", each.of.value,
                              each.job.value, present::SlowedText(each, JobId())));
  }
  return text;
}

Result<int> Info(const HubScreen& screen) {
  auto nodes = TRY(AskNodes(screen));
  std::string text;
  for (const NodeFacts& node : nodes)
    text += screen.human() ? PageOf(node) : present::JsonOf("node", node);
  return screen.Write(text);
}

}  // namespace

extern const Command kNodeInfo = {
    .order = 380,
    .group = CommandGroup::kNodes,
    .name = "node info",
    .arguments = "[NODE...]",
    .completes = Completes::kNodes,
    .summary = "show node details",
    .details = "",
    .examples = {{{"spate node info", "all nodes"}, {"spate node info n7", "one node"}}},
    .options = {{opt::kAboutHub}},
    .run = AskHub<Info>,
};

}  // namespace spate::cli::command
