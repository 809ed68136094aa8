// `spate node list|info|drain|resume|remove`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/hub/hub_screen.h"
#include "cli/table/table.h"
#include "cli/table/time_text.h"
#include "cli/view/json_fields.h"

namespace spate::cli {
namespace {

bool NamesAll(const Words& words) {
  return std::ranges::find(words.words, "all") != words.words.end();
}

Result<std::vector<NodeFacts>> AskNodes(const HubScreen& screen) {
  wire::ListNodes question;
  if (!NamesAll(screen.words)) question.names = screen.words.words;
  std::vector<NodeFacts> nodes;
  auto asked = client::Ask(screen.hub, std::move(question),
                           [&](NodeFacts node) { nodes.push_back(std::move(node)); });
  if (!asked) return std::unexpected(asked.error());
  return nodes;
}

const char* UserText(const NodeFacts& node, const char* everybody) {
  return node.user == "*" ? everybody : node.user.c_str();
}

std::vector<Cell> RowOf(const NodeFacts& node) {
  return {{node.name},
          {node.state, node.state == "ready" ? Tone::kGood : Tone::kDoubtful},
          {UserText(node, "all")},
          {fmt::format("{}", node.slots)},
          {fmt::format("{:g}", node.cpus)},
          {node.memory == 0 ? "" : FormatSize(node.memory)},
          {fmt::format("{}", node.tasks)},
          {node.machine ? fmt::format("{:.1f}", node.machine->load) : ""},
          {fmt::format("{}", node.ended)},
          {fmt::format("{}", node.failed)},
          {node.why}};
}

std::string TableOf(const HubScreen& screen, const std::vector<NodeFacts>& nodes) {
  std::string text;
  Table table({{"NODE", Align::kLeft, 8},
               {"STATE"},
               {"USER", Align::kLeft, 6},
               {"SLOTS", Align::kRight},
               {"CPUS", Align::kRight},
               {"MEMORY", Align::kRight},
               {"TASKS", Align::kRight},
               {"LOAD", Align::kRight},
               {"ENDED", Align::kRight},
               {"FAILED", Align::kRight},
               {"NOTE", Align::kLeft, 8}},
              screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  for (const NodeFacts& node : nodes) table.Add(RowOf(node));
  table.Finish();
  return text;
}

Result<int> NodeList(const HubScreen& screen) {
  auto nodes = AskNodes(screen);
  if (!nodes) return std::unexpected(nodes.error());
  std::string text;
  if (screen.human()) text = TableOf(screen, *nodes);
  for (const NodeFacts& node : *nodes) {
    if (screen.form == OutputForm::kQuiet) text += EscapeForScreen(node.name) + "\n";
    if (screen.form == OutputForm::kJson) text += JsonOf("node", node);
  }
  if (auto written = screen.write_out(text); !written) return std::unexpected(written.error());
  if (nodes->empty() && screen.human()) {
    screen.Say("no node has joined; start one, here or elsewhere: spate node start --daemon");
  }
  return kExitSuccess;
}

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
  add("state", node.state + ", since " + DateAndTime(node.since));
  add("why", node.why);
  add("address", node.from);
  add("program", "spate " + node.program);
  add("serves", UserText(node, "all users"));
  add("offers", fmt::format("{} slots, {:g} cpus{}", node.slots, node.cpus,
                            node.memory > 0 ? ", " + FormatSize(node.memory) : ""));
  for (const OfferFacts& offer : node.offers) {
    add("", fmt::format("{}: {}", offer.name, fmt::join(offer.pieces, ",")));
  }
  add("labels", fmt::format("{}", fmt::join(node.labels, " ")));
  if (node.until) add("until", DateAndTime(*node.until));
  add("tasks",
      fmt::format("{} now, {} ended, {} of them failed", node.tasks, node.ended, node.failed));
  if (node.machine) add("machine", MachineText(*node.machine));
  for (const RunFacts& run : node.runs) {
    add("runs", fmt::format("{}.{} since {}", run.job.value, run.task, DateAndTime(run.since)));
  }
  return text;
}

Result<int> NodeInfo(const HubScreen& screen) {
  auto nodes = AskNodes(screen);
  if (!nodes) return std::unexpected(nodes.error());
  std::string text;
  for (const NodeFacts& node : *nodes) text += screen.human() ? PageOf(node) : JsonOf("node", node);
  if (auto written = screen.write_out(text); !written) return std::unexpected(written.error());
  return kExitSuccess;
}

Result<int> Change(const HubScreen& screen, wire::ChangeNodes::Change change,
                   std::string_view done) {
  wire::ChangeNodes question{
      .names = screen.words.words, .all = NamesAll(screen.words), .change = change};
  std::erase(question.names, "all");
  auto changed = client::AskOne(screen.hub, std::move(question));
  if (!changed) return std::unexpected(changed.error());
  screen.Say(fmt::format("{}: {}", fmt::join(screen.words.words, ", "), done));
  return kExitSuccess;
}

}  // namespace

HubVerb NodeVerbOf(Command command) {
  using Of = wire::ChangeNodes::Change;
  switch (command) {
    case Command::kNodeList:
      return NodeList;
    case Command::kNodeInfo:
      return NodeInfo;
    case Command::kNodeDrain:
      return [](const HubScreen& screen) {
        return Change(screen, Of::kDrain, "drained, nothing more starts there");
      };
    case Command::kNodeResume:
      return [](const HubScreen& screen) { return Change(screen, Of::kResume, "in use again"); };
    case Command::kNodeRemove:
      return [](const HubScreen& screen) { return Change(screen, Of::kRemove, "removed"); };
    default:
      return nullptr;
  }
}

}  // namespace spate::cli
