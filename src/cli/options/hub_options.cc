#include "cli/options/hub_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "core/model/limits.h"
#include "core/model/name.h"

namespace spate::cli {

namespace {

// ---- Values ------------------------------------------------------------------------------------

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(','), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// nullopt: those found.
Result<std::optional<std::vector<std::string>>> ParseGpus(std::string_view value) {
  if (value == "auto") return std::nullopt;
  if (value == "none") return std::vector<std::string>();
  std::vector<std::string> gpus = SplitAtCommas(value);
  if (gpus.empty()) {
    return Fail(ErrorKind::kInvalid, "the value is empty; write auto, none, or a list such as 0,1");
  }
  return gpus;
}

Result<std::string> ParseNodeName(std::string_view value) { return ReadName(value, "node name"); }

Result<std::string> ParseLabel(std::string_view value) {
  return ReadName(value, "label", kAlsoInLabels);
}

// 0: none.
Result<uint16_t> ParseGangPort(std::string_view word) {
  if (word == "none") return uint16_t{0};
  if (auto port = ReadNumber<uint16_t>(word); port && *port > 0) return *port;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a port; write 1 to 65535, or none", EscapeForScreen(word)));
}

Result<std::vector<std::string>> ParseUsers(std::string_view value) { return SplitAtCommas(value); }

// ---- Fields ------------------------------------------------------------------------------------

// To the member, by `parse`, or as values of its type are read (OptionReader::Value).
template <auto member, auto parse = nullptr, typename Out>
void Into(OptionReader& in, const Option& option, Out& out) {
  if constexpr (std::is_null_pointer_v<decltype(parse)>) {
    in.Value(option, out.*member);
  } else {
    in.Read(option, out.*member, parse);
  }
}

void FillListen(OptionReader& in, const Option& option, HubOptions& out) {
  in.Value(option, out.listen);
  out.says_where = !out.listen.empty();
  if (out.listen.size() == 1 && out.listen.front() == "none") out.listen.clear();
}

// A port alone is open on this machine only.
template <typename Out>
void FillMetrics(OptionReader& in, const Option& option, Out& out) {
  in.Value(option, out.metrics);
  const bool port_alone = out.metrics.find_first_not_of("0123456789") == std::string::npos;
  if (!out.metrics.empty() && port_alone) out.metrics.insert(0, "127.0.0.1:");
}

void FillOffers(OptionReader& in, const Option& option, NodeOptions& out) {
  in.ReadAll(option, ParseNamedOffer, [&](NamedOffer offer) {
    std::erase_if(out.offers, [&](const NamedOffer& known) { return known.name == offer.name; });
    out.offers.push_back(std::move(offer));
  });
  std::ranges::sort(out.offers, {}, &NamedOffer::name);
}

void FillNodeLabels(OptionReader& in, const Option& option, NodeOptions& out) {
  in.ReadAll(option, ParseLabel,
             [&](std::string label) { out.labels.push_back(std::move(label)); });
  std::ranges::sort(out.labels);
  out.labels.erase(std::ranges::unique(out.labels).begin(), out.labels.end());
}

// ---- Rows --------------------------------------------------------------------------------------

constexpr Option DaemonOption() {
  return {.names = "daemon",
          .heading = Heading::kHub,
          .help = "continue in the background after a successful start",
          .more = "Messages go to the file log in the state folder, which is reopened at HUP."};
}
constexpr Option MetricsOption() {
  return {.names = "metrics",
          .argument = "[HOST:]PORT",
          .heading = Heading::kHub,
          .help = "port that answers GET /metrics, for Prometheus",
          .more =
              "Without HOST, the port is open on this machine only. The answer has numbers, but no "
              "names of users or jobs. Anyone who can reach the port may read them, without "
              "encryption."};
}
constexpr Option AllowRootOption() {
  return {.names = "allow-root",
          .heading = Heading::kHub,
          .help = "let a node run root's tasks, or a hub run as root"};
}

constexpr RowOf<HubOptions> kStartHubRows[] = {
    {{.names = "listen",
      .argument = "HOST[:PORT]",
      .heading = Heading::kHub,
      .help = "address for other machines, or none (default: none)",
      .more = "HOST may be *, for all addresses; the default port is that of the hub's earlier "
              "start, else 18150, or another one if that is taken. May be given several times. The "
              "socket for this machine always exists.",
      .repeat = true},
     FillListen},
    {DaemonOption(), Into<&HubOptions::daemon>},
    {MetricsOption(), FillMetrics<HubOptions>},
    {{.names = "policy",
      .argument = "NAME",
      .heading = Heading::kHub,
      .help = "scheduling policy for gangs (default: fair)",
      .more = "fair, fcfs, easy, easy-sjbf or conservative. fair: in the order of users' and jobs' "
              "shares; others may start before the first waiting gang if they do not delay it. "
              "fcfs: in the order of submission. easy: in the order of submission; others may "
              "start before, as with fair. easy-sjbf: as easy, but of those others, the one with "
              "the shortest --time first. conservative: the first 50 gangs have a reservation "
              "each. The hub remembers the policy.",
      .complete = Complete::kWords,
      .words = "fair fcfs easy easy-sjbf conservative"},
     Into<&HubOptions::policy, ParseGangPolicy>},
    {{.names = "suspect-after",
      .argument = "T",
      .heading = Heading::kHub,
      .help = "silence before a node gets no tasks (default: 15s)",
      .more = "The hub closes the connection; the node reconnects when it can. At least 1s."},
     Into<&HubOptions::suspect_after>},
    {{.names = "lost-after",
      .argument = "T",
      .heading = Heading::kHub,
      .help = "silence before tasks run elsewhere (default: 60s)",
      .more = "Later reports of the node about these tasks are ignored."},
     Into<&HubOptions::lost_after>},
    {{.names = "max-frozen",
      .argument = "T",
      .heading = Heading::kHub,
      .help = "end tasks that were stopped for T (default: 7d)",
      .more = "Tasks that `spate job stop` has frozen keep their processors and memory."},
     Into<&HubOptions::max_frozen>},
    {{.names = "forget-nodes",
      .argument = "T",
      .heading = Heading::kHub,
      .help = "forget nodes that are absent for T (default: 1d)",
      .more = "Forgotten nodes may connect again. Drained and removed nodes are not forgotten."},
     Into<&HubOptions::forget_nodes>},
    {{.names = "new-key",
      .heading = Heading::kHub,
      .help = "replace the hub's key if it is missing or differs",
      .more = "All nodes and clients on other machines then need new access files."},
     Into<&HubOptions::new_key>},
    {AllowRootOption(), Into<&HubOptions::allow_root>},
};

constexpr RowOf<NodeOptions> kStartNodeRows[] = {
    {DaemonOption(), Into<&NodeOptions::daemon>},
    {{.names = "name",
      .argument = "NAME",
      .heading = Heading::kHub,
      .help = "name of the node (default: the host's)"},
     Into<&NodeOptions::name, ParseNodeName>},
    {{.names = "jobs,slots",
      .letters = "j",
      .argument = "N",
      .heading = Heading::kSlots,
      .help = "tasks at once: N, 50%, +N, -N (default: all cores)",
      .more = "With more slots than cores, the node offers a cpu for each slot, unless --cpus says "
              "otherwise."},
     Into<&NodeOptions::slots, ParseSlotRule>},
    {{.names = "cpus,cores",
      .argument = "N",
      .heading = Heading::kNeeds,
      .help = "cores that the node offers (default: all)"},
     Into<&NodeOptions::milli_cpus, ParseMilliCpus>},
    {{.names = "bind",
      .argument = "HOW",
      .heading = Heading::kNeeds,
      .help = "reserve cores for a task: core, numa, none (default)",
      .more = "A task with several cpus gets as many hardware threads, next to each other, out of "
              "those that the node may use when the node starts. SPATE_CPU_LIST in the task's "
              "environment lists them. The task runs on these threads (core), or on the NUMA nodes "
              "that contain them (numa). All other tasks run on the remaining threads.",
      .complete = Complete::kWords,
      .words = "core numa none"},
     Into<&NodeOptions::bind>},
    {{.names = "memory,mem",
      .argument = "SIZE",
      .heading = Heading::kNeeds,
      .help = "memory that the node offers (default: all)"},
     Into<&NodeOptions::memory, ParseMemory>},
    {{.names = "gpus",
      .argument = "auto|LIST",
      .heading = Heading::kNeeds,
      .help = "GPUs of the node: auto (default), none or 0,1"},
     Into<&NodeOptions::gpus, ParseGpus>},
    {{.names = "resource,offer",
      .argument = "NAME=N|NAME=A,B,...",
      .heading = Heading::kNeeds,
      .help = "pieces of a resource that the node offers",
      .repeat = true},
     FillOffers},
    {{.names = "label",
      .argument = "LABEL",
      .heading = Heading::kNeeds,
      .help = "label of the node, for submit --label",
      .repeat = true},
     FillNodeLabels},
    {{.names = "lifetime",
      .argument = "T",
      .heading = Heading::kHub,
      .help = "end after T, and start only tasks that fit",
      .more = "For nodes inside an allocation of a batch system."},
     Into<&NodeOptions::lifetime, ParseDuration>},
    {{.names = "idle-exit",
      .argument = "T",
      .heading = Heading::kHub,
      .help = "end after T without tasks"},
     Into<&NodeOptions::idle_exit, ParseDuration>},
    {{.names = "hub-patience",
      .argument = "T",
      .heading = Heading::kHub,
      .help = "end after T without a hub (default of a pilot: 10m)"},
     Into<&NodeOptions::hub_patience, ParseDuration>},
    {{.names = "gang-port",
      .argument = "N|none",
      .heading = Heading::kHub,
      .help = "port for other nodes of a gang (default: a free one)",
      .more = "spate remote, and therefore mpirun, reaches this node at this port. The address is "
              "the one that the node uses to reach its hub; a node on the hub's machine uses the "
              "addresses where the hub listens. none: gangs over several nodes cannot start "
              "commands on this node."},
     Into<&NodeOptions::gang_port, ParseGangPort>},
    {MetricsOption(), FillMetrics<NodeOptions>},
    {{.names = "pilot",
      .heading = Heading::kHub,
      .help = "offer what the batch system has allocated",
      .more = "The node's end, cpus, memory and GPUs come from Slurm, Grid Engine, PBS or HTCondor "
              "unless options state them. In an allocation of several hosts, a node starts on each "
              "host. Pools start their nodes this way (spate pool add)."},
     Into<&NodeOptions::pilot>},
    {{.names = "tmp",
      .argument = "DIR",
      .heading = Heading::kHub,
      .help = "folder for output in transit and for tasks' files",
      .complete = Complete::kFolder},
     Into<&NodeOptions::tmp>},
    {{.names = "users",
      .argument = "NAME,...",
      .heading = Heading::kHub,
      .help = "run only tasks of these users (for nodes of root)"},
     Into<&NodeOptions::users, ParseUsers>},
    {{.names = "cgroup",
      .argument = "DIR",
      .heading = Heading::kHub,
      .help = "cgroup to put tasks into (default: the node's own)",
      .more =
          "DIR is a folder below /sys/fs/cgroup, in which no process sits. A service manager "
          "that restarts the node while tasks run needs one beside the node's own, as the "
          "units of the package have it. Without DIR on the machine, tasks run without cgroups."},
     Into<&NodeOptions::cgroup>},
    {AllowRootOption(), Into<&NodeOptions::allow_root>},
};

constexpr auto kStartHubRefs = RefsOf(kStartHubRows);
constexpr auto kStartNodeRefs = RefsOf(kStartNodeRows);

}  // namespace

namespace opt {

const Option& kGangPolicy = Named(kStartHubRows, "policy");
const Option& kNewKey = Named(kStartHubRows, "new-key");

constexpr OptionGroup kHubOwn = {kStartHubRefs}, kNodeOwn = {kStartNodeRefs};
constexpr OptionRef kOfHubStartRefs[] = {kState, kKeep, kHubOwn};
const OptionGroup kOfHubStart = {kOfHubStartRefs};
constexpr OptionRef kOfNodeStartRefs[] = {kState, kAccess, kNodeOwn};
const OptionGroup kOfNodeStart = {kOfNodeStartRefs};

}  // namespace opt

Result<GangPolicy> ParseGangPolicy(std::string_view word) {
  if (auto policy = FromWord<GangPolicy>(word)) return *policy;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a policy; write fair, fcfs, easy, easy-sjbf or conservative",
                          EscapeForScreen(word)));
}

Result<HubOptions> MakeHubOptions(const Words& words) {
  HubOptions options;
  OptionReader in(words);
  in.Text(opt::kState, options.state_dir);
  ReadRows<HubOptions>(kStartHubRows, in, options);
  in.ReadAll(
      opt::kKeep,
      [&](std::string_view value) -> Result<bool> {
        TRY(ParseHistoryBound(value, options.keep));
        return true;
      },
      [](bool) {});
  TRY(in.status());
  if (options.suspect_after < Duration::Seconds(1) ||
      options.suspect_after > Duration::Seconds(86'400)) {
    return Fail(ErrorKind::kInvalid, "--suspect-after: the value must be from 1s to 1d");
  }
  if (options.max_frozen < Duration::Seconds(1)) {
    return Fail(ErrorKind::kInvalid, "--max-frozen: the value must be at least 1s");
  }
  if (options.lost_after < options.suspect_after) {
    return Fail(ErrorKind::kInvalid,
                "--lost-after: the value must be at least that of --suspect-after");
  }
  return options;
}

Result<NodeOptions> MakeNodeOptions(const Words& words) {
  NodeOptions options;
  OptionReader in(words);
  in.Text(opt::kAccess, options.access);
  in.Text(opt::kState, options.state_dir);
  ReadRows<NodeOptions>(kStartNodeRows, in, options);
  TRY(in.status());
  return options;
}

NodeRoom RoomOfNode(const NodeOptions& options, uint32_t cores) {
  NodeRoom room{.slots = std::max(cores, 1u), .milli_cpus = std::max(cores, 1u) * kMilliCpu};
  if (options.milli_cpus) {
    room.milli_cpus = *options.milli_cpus;
    room.slots = std::max(room.slots, (room.milli_cpus + kMilliCpu - 1) / kMilliCpu);
  }
  if (options.slots == SlotRule()) return room;
  room.slots = SlotCount(options.slots, cores);
  if (!options.milli_cpus) room.milli_cpus = std::max(room.milli_cpus, room.slots * kMilliCpu);
  return room;
}

}  // namespace spate::cli
