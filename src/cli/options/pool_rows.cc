// The options of `spate pool add` and `spate pool set`, each with what it sets of a pool.
#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "cli/options/option_reader.h"
#include "cli/options/pool_options.h"
#include "cli/options/shared.h"
#include "core/model/limits.h"
#include "core/model/name.h"
#include "core/model/pool_facts.h"

namespace spate::cli {
namespace {

// ---- Values ------------------------------------------------------------------------------------

Result<std::string> AnyText(std::string_view value) { return std::string(value); }

Result<std::string> SomeText(std::string_view value) {
  if (value.empty()) return Fail(ErrorKind::kInvalid, "the value is empty");
  return std::string(value);
}

Result<bool> ReadSwitch(std::string_view value) { return value == "true"; }
Result<bool> ReadNoSwitch(std::string_view value) { return value != "true"; }

Result<std::string> TakePath(std::string_view value) {
  if (value.starts_with('/')) return std::string(value);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' does not begin with a /; write an absolute path, because the hub "
                          "and the nodes have no common current folder",
                          EscapeForScreen(value)));
}

Result<std::string> TakeLabel(std::string_view value) {
  if (!value.starts_with(kPoolLabel)) return ReadName(value, "label", kAlsoInLabels);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a label; those that begin with {} are the hub's own",
                          EscapeForScreen(value), kPoolLabel));
}

Result<Duration> TimeOrNever(std::string_view value) {
  if (value == "never") return Duration::Max();
  auto time = ParseDuration(value);
  if (!time) return Fail(time.error().kind, time.error().message + ", or never");
  return *time;
}

Result<Duration> SomeTime(std::string_view value) {
  auto time = ParseDuration(value);
  if (time && time->ns == 0) return Fail(ErrorKind::kInvalid, "write a time above 0");
  return time;
}

template <uint32_t most>
Result<uint32_t> CountTo(std::string_view value) {
  return ParseCountUpTo(value, most);
}
template <uint32_t most>
Result<uint32_t> CountFrom1(std::string_view value) {
  auto count = ParseCountUpTo(value, most);
  if (count && *count == 0) return Fail(ErrorKind::kInvalid, "write 1 or more");
  return count;
}

// ---- Fields ------------------------------------------------------------------------------------

// Sets the field to which the pointers to members lead.
template <auto parse, auto... path>
void ReadOne(OptionReader& in, const Option& opt, PoolChange& change) {
  auto& field = (change.values.*....*path);
  auto value = field;
  if (in.Read(opt, value, parse)) change.Set(field, std::move(value));
}
template <auto parse, auto... path>
void ReadEach(OptionReader& in, const Option& opt, PoolChange& change) {
  std::vector<std::string> values;
  in.ReadAll(opt, parse, [&](std::string value) { values.push_back(std::move(value)); });
  if (!values.empty()) change.Set((change.values.*....*path), std::move(values));
}

void ReadLabels(OptionReader& in, const Option& opt, PoolChange& change) {
  std::vector<std::string>& labels = change.values.shape.labels;
  ReadEach<TakeLabel, &PoolPolicy::shape, &NodeShape::labels>(in, opt, change);
  std::ranges::sort(labels);
  labels.erase(std::ranges::unique(labels).begin(), labels.end());
}

void Put(std::vector<NamedNeed>& all, NamedNeed named) {
  std::erase_if(all, [&](const NamedNeed& known) { return known.name == named.name; });
  all.push_back(std::move(named));
}

// Sets nothing: --gpus counts more than --resource gpus=N, which is read later.
void ReadGpus(OptionReader& in, const Option& opt, PoolChange& change) {
  uint32_t gpus = 0;
  if (in.Read(opt, gpus, CountTo<1024>)) Put(change.values.shape.named, {"gpus", gpus});
}
void ReadResources(OptionReader& in, const Option& opt, PoolChange& change) {
  std::vector<NamedNeed> all;
  in.ReadAll(opt, ParseNamedNeed, [&](NamedNeed named) { Put(all, std::move(named)); });
  for (const NamedNeed& gpus : change.values.shape.named) Put(all, gpus);
  if (all.empty()) return;
  std::erase_if(all, [](const NamedNeed& named) { return named.count == 0; });
  std::ranges::sort(all, {}, &NamedNeed::name);
  change.Set(change.values.shape.named, std::move(all));
}

void ReadSuspended(OptionReader& in, const Option& opt, PoolChange& change) {
  TimeSpan suspended;
  if (!in.Read(opt, suspended, ParseTimeSpan)) return;
  change.Set(change.values.watch.suspended_from, suspended.from);
  change.Set(change.values.watch.suspended_until, suspended.to);
}

// ---- Rows --------------------------------------------------------------------------------------

constexpr RowOf<PoolChange> kRows[] = {
    {{.names = "max-pilots",
      .argument = "N",
      .heading = Heading::kPilots,
      .help = "maximum of pilots, queued or running (default: 10)",
      .more = "The hub requests pilots when tasks wait for them, and only as many "
              "as would be busy. For ssh and local, the default is 1."},
     ReadOne<CountFrom1<kLimits.pilots>, &PoolPolicy::max_pilots>},
    {{.names = "min-pilots",
      .argument = "N",
      .heading = Heading::kPilots,
      .help = "pilots to keep even without work (default: 0)",
      .more = "For ssh and local, the default is 1: a permanent node."},
     ReadOne<CountTo<kLimits.pilots>, &PoolPolicy::min_pilots>},
    {{.names = "backlog",
      .argument = "N",
      .heading = Heading::kPilots,
      .help = "maximum of pilots in the queue (default: 4)"},
     ReadOne<CountFrom1<kLimits.pilots>, &PoolPolicy::backlog>},
    {{.names = "nodes-per-pilot",
      .argument = "N",
      .heading = Heading::kPilots,
      .help = "nodes of one pilot (default: 1)"},
     ReadOne<CountFrom1<100'000>, &PoolPolicy::nodes_per_pilot>},
    {{.names = "time-limit",
      .argument = "T",
      .heading = Heading::kPilots,
      .help = "time after which the batch system ends a pilot",
      .more = "Tasks with --time start only where they end before that. Not needed if the batch "
              "system's "
              "own options contain a plain time limit (-t, --time, -l h_rt=, -l walltime=)."},
     ReadOne<SomeTime, &PoolPolicy::time_limit>},
    {{.names = "lifetime",
      .argument = "T",
      .heading = Heading::kPilots,
      .help = "stop nodes after T, if that is sooner"},
     ReadOne<SomeTime, &PoolPolicy::lifetime>},
    {{.names = "idle-exit",
      .argument = "T|never",
      .heading = Heading::kPilots,
      .help = "stop pilots after T without work (default: 5m)",
      .more = "For ssh and local, the default is never."},
     ReadOne<TimeOrNever, &PoolPolicy::idle_exit>},
    {{.names = "chain",
      .heading = Heading::kPilots,
      .help = "queue a successor for each running pilot",
      .more = "Requires a time limit. Each pilot has one successor, which does not "
              "count towards --max-pilots."},
     ReadOne<ReadSwitch, &PoolPolicy::chain>},
    {{.names = "spread",
      .heading = Heading::kPilots,
      .help = "request as many pilots as waiting tasks can use",
      .more =
          "Otherwise the hub requests only as many as would be busy for about as long as a pilot "
          "waits in the queue. --max-pilots and --backlog still apply. Until the first pilot has "
          "joined, one slot per node is assumed."},
     ReadOne<ReadSwitch, &PoolPolicy::spread>},
    {{.names = "submit-rate",
      .argument = "N[/s|/m|/h]",
      .heading = Heading::kPilots,
      .help = "rate of pilot requests, as 30/m (default: 10/s)"},
     ReadOne<ParseSubmitRate, &PoolPolicy::submit_interval>},
    {{.names = "user",
      .argument = "NAME",
      .heading = Heading::kPilots,
      .help = "user whose tasks the pool serves (default: you)",
      .more = "'*' means all users. Only administrators may name other users."},
     ReadOne<SomeText, &PoolPolicy::user>},
    {{.names = "watch-unknown",
      .argument = "T|never",
      .heading = Heading::kPilots,
      .help = "declare a pilot failed after T in unknown state",
      .more = "Default: never. The state is unknown if the pilot was submitted "
              "and the batch system has reported nothing about it."},
     ReadOne<TimeOrNever, &PoolPolicy::watch, &WatchTimes::init>},
    {{.names = "watch-error",
      .argument = "T|never",
      .heading = Heading::kPilots,
      .help = "declare a pilot failed after T in error (default: 5m)"},
     ReadOne<TimeOrNever, &PoolPolicy::watch, &WatchTimes::error>},
    {{.names = "watch-suspended",
      .argument = "FROM-TO",
      .heading = Heading::kPilots,
      .help = "suspension that excuses silence (default: 0s-never)",
      .more = "FROM and TO are times since the suspension began; between "
              "them, --watch-silent does not apply."},
     ReadSuspended},
    {{.names = "watch-silent",
      .argument = "T|never",
      .heading = Heading::kPilots,
      .help = "declare a silent pilot failed after T (default: 5m)"},
     ReadOne<TimeOrNever, &PoolPolicy::watch, &WatchTimes::silent>},
    {{.names = "watch-joining",
      .argument = "T|never",
      .heading = Heading::kPilots,
      .help = "limit from start to the first node (default: 20m)",
      .more = "A running pilot has failed if none of its nodes has joined by then."},
     ReadOne<TimeOrNever, &PoolPolicy::watch, &WatchTimes::never_joined>},
    {{.names = "slots",
      .argument = "N",
      .heading = Heading::kPoolNodes,
      .help = "tasks at once on one node",
      .more = "A node with more slots than cores offers a cpu for each slot, unless --cpus says "
              "otherwise. Values that are not given come from the first pilot. Until then there is "
              "only "
              "one pilot, except with --slots, --cpus or --spread: these say how many tasks fit."},
     ReadOne<CountFrom1<kLimits.slots>, &PoolPolicy::shape, &NodeShape::slots>},
    {{.names = "cpus,cores",
      .argument = "N",
      .heading = Heading::kPoolNodes,
      .help = "cores of one node"},
     ReadOne<ParseMilliCpus, &PoolPolicy::shape, &NodeShape::milli_cpus>},
    {{.names = "memory,mem",
      .argument = "SIZE",
      .heading = Heading::kPoolNodes,
      .help = "memory of one node"},
     ReadOne<ParseMemory, &PoolPolicy::shape, &NodeShape::memory>},
    {{.names = "gpus", .argument = "N", .heading = Heading::kPoolNodes, .help = "GPUs of one node"},
     ReadGpus},
    {{.names = "resource,offer",
      .argument = "NAME=N",
      .heading = Heading::kPoolNodes,
      .help = "pieces of another resource on one node",
      .repeat = true},
     ReadResources},
    {{.names = "label",
      .argument = "LABEL",
      .heading = Heading::kPoolNodes,
      .help = "label of the pool's nodes, for submit --label",
      .more = "All nodes have the label pool:NAME, and the label of their group.",
      .repeat = true},
     ReadLabels},
    {{.names = "node-option",
      .argument = "WORD",
      .heading = Heading::kPoolNodes,
      .help = "additional word for the pilots' spate node start",
      .more = "For example: --node-option=--tmp --node-option=/scratch.",
      .repeat = true},
     ReadEach<SomeText, &PoolPolicy::settings, &PoolSettings::node_options>},
    {{.names = "prologue",
      .argument = "CMD",
      .heading = Heading::kSystem,
      .help = "shell text that a pilot runs before its node",
      .more = "Variables that it sets, changes or unsets, as `module load` "
              "does, are so for tasks, too: they replace those of submit."},
     ReadOne<AnyText, &PoolPolicy::settings, &PoolSettings::prologue>},
    {{.names = "epilogue",
      .argument = "CMD",
      .heading = Heading::kSystem,
      .help = "shell text that a pilot runs after its node"},
     ReadOne<AnyText, &PoolPolicy::settings, &PoolSettings::epilogue>},
    {{.names = "wrapper",
      .argument = "CMD",
      .heading = Heading::kSystem,
      .help = "shell words before a pilot's node command",
      .more = "They run it in a container: --wrapper 'apptainer exec "
              "/apps/lab.sif'. The container must see the "
              "program and the pool's folder. For pilots of one node."},
     ReadOne<SomeText, &PoolPolicy::settings, &PoolSettings::wrapper>},
    {{.names = "submit-command",
      .argument = "PATH",
      .heading = Heading::kSystem,
      .help = "path of sbatch, qsub, condor_submit or ssh",
      .complete = Complete::kFile},
     ReadOne<SomeText, &PoolPolicy::settings, &PoolSettings::submit_command>},
    {{.names = "query-command",
      .argument = "PATH",
      .heading = Heading::kSystem,
      .help = "path of squeue, qstat or condor_q",
      .complete = Complete::kFile},
     ReadOne<SomeText, &PoolPolicy::settings, &PoolSettings::query_command>},
    {{.names = "cancel-command",
      .argument = "PATH",
      .heading = Heading::kSystem,
      .help = "path of scancel, qdel or condor_rm",
      .complete = Complete::kFile},
     ReadOne<SomeText, &PoolPolicy::settings, &PoolSettings::cancel_command>},
    {{.names = "select-command",
      .argument = "PATH",
      .heading = Heading::kSystem,
      .help = "path of qselect",
      .complete = Complete::kFile},
     ReadOne<SomeText, &PoolPolicy::settings, &PoolSettings::select_command>},
    {{.names = "command-word",
      .argument = "WORD",
      .heading = Heading::kSystem,
      .help = "additional word for each of these commands",
      .more =
          "For example, --command-word=-M --command-word=big for another Slurm cluster. For ssh, "
          "these are its options, as in --command-word=-p --command-word=2222.",
      .repeat = true},
     ReadEach<SomeText, &PoolPolicy::settings, &PoolSettings::everywhere>},
    {{.names = "address",
      .argument = "HOST[:PORT]",
      .heading = Heading::kSystem,
      .help = "address of the hub for the nodes (default: all)",
      .repeat = true},
     ReadEach<SomeText, &PoolPolicy::settings, &PoolSettings::addresses>},
    {{.names = "folder",
      .argument = "DIR",
      .heading = Heading::kSystem,
      .help = "folder shared with nodes, for scripts and outputs",
      .complete = Complete::kFolder},
     ReadOne<TakePath, &PoolPolicy::settings, &PoolSettings::folder>},
    {{.names = "program",
      .argument = "PATH",
      .heading = Heading::kSystem,
      .help = "path of spate on the nodes (default: as on the hub)",
      .complete = Complete::kFile},
     ReadOne<TakePath, &PoolPolicy::settings, &PoolSettings::program>},
    {{.names = "no-shared-files",
      .heading = Heading::kSystem,
      .help = "do not expect nodes to see this machine's files"},
     ReadOne<ReadNoSwitch, &PoolPolicy::settings, &PoolSettings::shared_files>},
};

constexpr auto kRefs = RefsOf(kRows);

}  // namespace

Result<Duration> ParseSubmitRate(std::string_view text) {
  constexpr double kDay = 86'400, kMost = 1000;
  std::string_view number = text.substr(0, text.find('/'));
  std::string_view per = text.substr(std::min(number.size() + 1, text.size()));
  double seconds = per == "h" ? 3600 : per == "m" || per == "min" ? 60 : 1;
  bool known = per == "h" || per == "m" || per == "min" || per == "s" ||
               (per.empty() && number.size() == text.size());
  bool plain = number.find_first_not_of("0123456789.") == std::string_view::npos;
  auto count = plain ? ReadNumber<double>(number) : std::nullopt;
  if (!known || !count || *count <= 0 || *count / seconds > kMost || seconds / *count > kDay) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a rate; write for example 0.5, 2/s, 10/m or 100/h",
                            EscapeForScreen(text)));
  }
  return Duration::SecondsF(seconds / *count);
}

Result<TimeSpan> ParseTimeSpan(std::string_view text) {
  size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    auto from = ParseDuration(text.substr(0, dash));
    auto to = TimeOrNever(text.substr(dash + 1));
    if (from && to && *from <= *to) return TimeSpan{*from, *to};
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not FROM-TO; write for example 10m-2h or 0s-never",
                          EscapeForScreen(text)));
}

Result<PoolChange> ReadPoolChange(const Words& words) {
  PoolChange change;
  OptionReader in(words);
  ReadRows<PoolChange>(kRows, in, change);
  TRY(in.status());
  return change;
}

namespace opt {

const Option kHosts = {
    .names = "hosts",
    .argument = "FILE|HOST,...",
    .heading = Heading::kSystem,
    .help = "ssh only: list of hosts, each HOST or HOST:SLOTS",
    .more =
        "HOST may be user@host, or [ADDRESS] for an address with colons. FILE (an existing file, "
        "or a name with a /) has one host per line; # begins a comment. Each host becomes a pool "
        "NAME-HOST; NAME means all of them in further commands and in submit --pool."};

const Option kNoTest = {.names = "no-test",
                        .heading = Heading::kSystem,
                        .help = "add the pool without a test by the batch system"};

const Option kPoolDryRun = {
    .names = "dry-run", .heading = Heading::kSystem, .help = "only show what would be submitted"};

const OptionGroup kPoolWishes = {kRefs};

}  // namespace opt
}  // namespace spate::cli
