// `spate node query`
#include <fmt/format.h>

#include <string>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "core/model/node_measures.h"
#include "present/json/json_fields.h"
#include "present/table/time_text.h"

namespace spate::cli::command {
namespace {

std::string PageOf(const NodeMeasures& now) {
  std::string text = fmt::format("Node {}, measured {}\n", EscapeForScreen(now.node),
                                 present::DateAndTime(now.measured));
  auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", name, EscapeForScreen(value));
  };
  if (now.machine) {
    const MachineLoad& machine = *now.machine;
    add("load", fmt::format("{:.1f}", machine.load));
    add("memory", FormatSize(machine.free_memory) + " free" +
                      (now.memory > 0 ? ", " + FormatSize(now.memory) + " offered" : ""));
    add("pressure",
        fmt::format("cpu {:.0f} %, memory {:.0f} %, disks {:.0f} % of the last 10 s",
                    machine.cpu_pressure, machine.memory_pressure, machine.io_pressure));
  }
  add("processes", fmt::format("{}", now.processes));
  for (const NodeMeasures::Disk& disk : now.disks) {
    add("disk", fmt::format("{}: {} free of {}", disk.folder, FormatSize(disk.free),
                            FormatSize(disk.size)));
  }
  return text;
}

Result<int> Query(const HubScreen& screen) {
  for (const std::string& node : screen.words.words) {
    const NodeMeasures now = TRY(client::QueryNode(screen.hub, node, MeasureNode()));
    (void)TRY(screen.Write(screen.human() ? PageOf(now) : present::JsonOf("node_measures", now)));
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kNodeQuery = {
    .order = 385,
    .group = CommandGroup::kNodes,
    .name = "node query",
    .arguments = "NODE...",
    .completes = Completes::kNodes,
    .summary = "have nodes measure their machines now",
    .details =
        "Each node measures when it is asked: load, free memory, how long processes wait for "
        "processors, memory and disks, the number of processes, and the room on the disks of its "
        "folders. `spate node info` shows what nodes told the hub last.",
    .examples = {{{"spate node query n7", "one node"},
                  {"spate node query n7 n8 --json", "for programs"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub}},
    .run = AskHub<Query>,
};

}  // namespace spate::cli::command
