// `spate simulate`
#include <cstdint>
#include <utility>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/option_reader.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "cli/report.h"
#include "doors/simulate/simulate_options.h"

namespace spate::cli::command {
namespace {

constexpr Option kPolicy = {
    .names = "policy",
    .argument = "NAME",
    .heading = Heading::kSelect,
    .help = "fcfs, easy (default), easy-sjbf, fair, conservative",
    .more =
        "fcfs: strictly in the order of arrival. easy: the first waiting job has a reservation, "
        "and others may start earlier if they do not delay it. easy-sjbf: like easy, but among "
        "those others, the shortest estimate first. fair: like easy, but users take turns, those "
        "with the fewest processors in use first. conservative: every job has a reservation.",
    .complete = Complete::kWords,
    .words = "fcfs easy easy-sjbf fair conservative"};

constexpr Option kEstimates = {.names = "estimates",
                               .argument = "WHOSE",
                               .heading = Heading::kSelect,
                               .help = "estimates of run times: user (default) or perfect",
                               .more =
                                   "user: the run times that the users requested. perfect: the "
                                   "real run times, as if all users had known them.",
                               .complete = Complete::kWords,
                               .words = "user perfect"};

constexpr Option kReplayOrder = {.names = "order",
                                 .argument = "WHICH",
                                 .heading = Heading::kSelect,
                                 .help = "events of one instant: seq or batch (default: seq)",
                                 .more =
                                     "seq: one after another, arrivals before ends, with a "
                                     "decision after each. batch: all events, then one decision.",
                                 .complete = Complete::kWords,
                                 .words = "seq batch"};

constexpr Option kTraceFilter = {
    .names = "filter",
    .argument = "NAME",
    .heading = Heading::kSelect,
    .help = "jobs to use: study or loose (default: study)",
    .more =
        "Both leave out jobs without processors, run time or time of submission, and jobs larger "
        "than the machine. study also leaves out jobs without an estimate, and refuses broken "
        "lines. loose takes the run time as a missing estimate, and leaves out broken lines.",
    .complete = Complete::kWords,
    .words = "study loose"};

constexpr Option kJobHistory = {
    .names = "job-history",
    .argument = "STATE",
    .heading = Heading::kSources,
    .help = "simulate jobs of a history instead of a trace",
    .more =
        "STATE is the state folder of a hub or of local runs. Each task that has ended becomes a "
        "job with the submission time of its job and the run time of the task. Its estimate is its "
        "--time, else the median of the tasks of its job with the same needs, in whole seconds.",
    .complete = Complete::kFolder};

constexpr Option kMachineProcs = {.names = "procs",
                                  .argument = "N",
                                  .heading = Heading::kSources,
                                  .help = "processors of a trace without MaxProcs"};

constexpr Option kMachineNodes = {.names = "nodes",
                                  .argument = "N",
                                  .heading = Heading::kSources,
                                  .help = "number of nodes (--job-history, --placement nodes)"};

constexpr Option kMachineCpus = {.names = "cpus",
                                 .argument = "C",
                                 .heading = Heading::kSources,
                                 .help = "cpus of each node (--job-history, --placement nodes)"};

constexpr Option kPlacement = {
    .names = "placement",
    .argument = "HOW",
    .heading = Heading::kSelect,
    .help = "place jobs on a pool or on nodes (default: pool)",
    .more =
        "pool: a number of processors; fast enough for a trace of years. nodes: as a hub does, "
        "with every job as a gang, on the nodes of --nodes and --cpus (for a trace, the default is "
        "one node with all processors). A gang of a history then keeps its shape, and two "
        "half-free nodes have no room for a job that needs a whole node.",
    .complete = Complete::kWords,
    .words = "pool nodes"};

constexpr Option kFirst = {.names = "first",
                           .argument = "N",
                           .heading = Heading::kSelect,
                           .help = "use only the first N jobs that pass the filter"};

constexpr Option kSchedule = {
    .names = "schedule",
    .argument = "FILE",
    .heading = Heading::kOutput,
    .help = "write one line per job",
    .more =
        "The line has the job's number, submission, start, run time and processors, and 1 if the "
        "job started before an earlier one, else 0.",
    .complete = Complete::kFile};

constexpr Option kPlot = {.names = "plot",
                          .argument = "FILE.svg",
                          .heading = Heading::kOutput,
                          .help = "plot utilization, queue and slowdown over time",
                          .complete = Complete::kFile};

constexpr uint32_t kMostNodes = 1'000'000;
constexpr uint32_t kMostCpus = 1'000;

auto CountFromOne(uint32_t most) {
  return [most](std::string_view value) -> Result<uint32_t> {
    auto count = ParseCountUpTo(value, most);
    if (count && *count == 0) return Fail(ErrorKind::kInvalid, "write 1 or more");
    return count;
  };
}

// Either a trace, which knows its machine, or a history and a machine for it.
Status CheckSource(const Words& words, const SimulateOptions& options) {
  if (options.trace.empty() == options.history.empty()) {
    return Fail(ErrorKind::kInvalid,
                "name either a trace or --job-history STATE; see `spate help simulate`");
  }
  if (!options.is_history()) {
    if (options.on_nodes || (options.nodes == 0 && options.cpus == 0)) return {};
    return Fail(ErrorKind::kInvalid,
                "a trace states the number of processors of its machine; --nodes and --cpus are "
                "only for --job-history or --placement nodes");
  }
  if (options.procs > 0) {
    return Fail(ErrorKind::kInvalid, "--procs is for traces; with --job-history: --nodes, --cpus");
  }
  if (words.Has(kTraceFilter)) {
    return Fail(ErrorKind::kInvalid, "--filter is for traces, not for --job-history");
  }
  if (options.nodes > 0 && options.cpus > 0) return {};
  return Fail(ErrorKind::kInvalid,
              "--job-history needs a machine: --nodes N --cpus C, for N nodes with C cpus each");
}

Result<SimulateOptions> SimulateOptionsOf(const Words& words) {
  auto form = TRY(OutputFormOf(words));
  SimulateOptions options;
  options.form = form;
  if (!words.words.empty()) options.trace = words.words.front();
  OptionReader reader(words);
  reader.Value(kPolicy, options.policy);
  reader.Value(kReplayOrder, options.order);
  reader.Choice(kEstimates, options.perfect, {{"user", false}, {"perfect", true}});
  reader.Value(kTraceFilter, options.filter);
  reader.Read(kFirst, options.first, [](std::string_view value) -> Result<size_t> {
    auto count = ParseCount(value);
    if (count && *count == 0) return Fail(ErrorKind::kInvalid, "0 jobs cannot be simulated");
    return count;
  });
  reader.Text(kJobHistory, options.history);
  reader.Read(kMachineProcs, options.procs, CountFromOne(format::kSwfProcessors));
  reader.Read(kMachineNodes, options.nodes, CountFromOne(kMostNodes));
  reader.Read(kMachineCpus, options.cpus, CountFromOne(kMostCpus));
  reader.Choice(kPlacement, options.on_nodes, {{"pool", false}, {"nodes", true}});
  reader.Text(kSchedule, options.schedule);
  reader.Text(kPlot, options.plot);
  TRY(reader.status());
  auto sound = CheckSource(words, options);
  return sound ? Result<SimulateOptions>(std::move(options)) : std::unexpected(sound.error());
}

}  // namespace

extern const Command kSpateSimulate = {
    .order = 560,
    .group = CommandGroup::kMachine,
    .name = "simulate",
    .arguments = "TRACE | --job-history STATE",
    .completes = Completes::kFiles,
    .summary = "simulate a scheduling policy on a trace or on past jobs",
    .details =
        "TRACE is in the Standard Workload Format of the Parallel Workloads Archive, plain or "
        "compressed with gzip; - is standard input. The jobs go through the placement of a hub in "
        "virtual time. Nothing is run.",
    .examples = {{{"spate simulate KTH-SP2-1996-2.swf.gz", "with EASY"},
                  {"spate simulate --policy fcfs --json trace.swf", "for a program"},
                  {"spate simulate --plot easy.svg trace.swf", "with a picture"},
                  {"spate simulate --job-history DIR --nodes 4 --cpus 16", "jobs of a history"}}},
    .words_min = 0,
    .words_max = 1,
    .options = {{opt::kForms, kPolicy, kEstimates, kReplayOrder, kTraceFilter, kJobHistory,
                 kMachineProcs, kMachineNodes, kMachineCpus, kPlacement, kFirst, kSchedule, kPlot}},
    .run =
        [](const Invocation& invocation) {
          auto options = SimulateOptionsOf(invocation.words);
          return options ? Simulate(std::move(*options)) : ReportError(options.error());
        },
};

}  // namespace spate::cli::command
