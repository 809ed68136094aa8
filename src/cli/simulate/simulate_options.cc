#include "cli/simulate/simulate_options.h"

#include "cli/options/option_reader.h"

namespace spate::cli {
namespace {

constexpr uint32_t kMostNodes = 1'000'000;
constexpr uint32_t kMostCpus = 1'000;

auto CountFromOne(uint32_t most) {
  return [most](std::string_view value) -> Result<uint32_t> {
    auto count = ParseCountUpTo(value, most);
    if (count && *count == 0) return Fail(ErrorKind::kInvalid, "0 is none");
    return count;
  };
}

// Either a trace, which knows its machine, or a history and a machine for it.
Status CheckSource(const Words& words, const SimulateOptions& options) {
  if (options.trace.empty() == options.history.empty()) {
    return Fail(ErrorKind::kInvalid,
                "name a trace or --job-history STATE, and not both; see `spate help simulate`");
  }
  if (!options.is_history()) {
    if (options.on_nodes || (options.nodes == 0 && options.cpus == 0)) return {};
    return Fail(ErrorKind::kInvalid,
                "a trace says how many processors its machine has: --nodes and --cpus are for "
                "--job-history, or with --placement nodes");
  }
  if (words.Has(Opt::kTraceFilter)) {
    return Fail(ErrorKind::kInvalid, "--filter is for traces, not for --job-history");
  }
  if (options.nodes > 0 && options.cpus > 0) return {};
  return Fail(ErrorKind::kInvalid,
              "--job-history needs a machine: --nodes N --cpus C, for N nodes with C cpus each");
}

}  // namespace

using engine::place::BackfillPolicy;
using format::SwfFilter;

Result<SimulateOptions> MakeSimulateOptions(const Words& words) {
  auto form = OutputFormOf(words);
  if (!form) return std::unexpected(std::move(form.error()));
  SimulateOptions options;
  options.form = *form;
  if (!words.words.empty()) options.trace = words.words.front();
  OptionReader reader(words);
  reader.Choice(Opt::kPolicy, options.policy,
                {{"fcfs", BackfillPolicy::kFcfs},
                 {"easy", BackfillPolicy::kEasy},
                 {"easy-sjbf", BackfillPolicy::kEasySjbf},
                 {"conservative", BackfillPolicy::kConservative},
                 {"fair", BackfillPolicy::kFair}});
  reader.Choice(Opt::kReplayOrder, options.order,
                {{"seq", ReplayOrder::kSequence}, {"batch", ReplayOrder::kBatch}});
  reader.Choice(Opt::kEstimates, options.perfect, {{"user", false}, {"perfect", true}});
  reader.Choice(Opt::kTraceFilter, options.filter,
                {{"study", SwfFilter::kStudy}, {"loose", SwfFilter::kLoose}});
  reader.Read(Opt::kFirst, options.first, [](std::string_view value) -> Result<size_t> {
    auto count = ParseCount(value);
    if (count && *count == 0) return Fail(ErrorKind::kInvalid, "0 jobs are none to simulate");
    return count;
  });
  reader.Text(Opt::kJobHistory, options.history);
  reader.Read(Opt::kMachineNodes, options.nodes, CountFromOne(kMostNodes));
  reader.Read(Opt::kMachineCpus, options.cpus, CountFromOne(kMostCpus));
  reader.Choice(Opt::kPlacement, options.on_nodes, {{"pool", false}, {"nodes", true}});
  reader.Text(Opt::kSchedule, options.schedule);
  reader.Text(Opt::kPlot, options.plot);
  if (auto read = reader.status(); !read) return std::unexpected(std::move(read.error()));
  auto sound = CheckSource(words, options);
  return sound ? Result<SimulateOptions>(std::move(options)) : std::unexpected(sound.error());
}

std::string_view PolicyName(BackfillPolicy policy) {
  switch (policy) {
    case BackfillPolicy::kFcfs:
      return "fcfs";
    case BackfillPolicy::kEasy:
      return "easy";
    case BackfillPolicy::kEasySjbf:
      return "easy-sjbf";
    case BackfillPolicy::kConservative:
      return "conservative";
    case BackfillPolicy::kFair:
      return "fair";
  }
  return "";
}

std::string_view OrderName(ReplayOrder order) {
  return order == ReplayOrder::kSequence ? "seq" : "batch";
}

std::string_view EstimatesName(bool perfect) { return perfect ? "perfect" : "user"; }

std::string_view PlacementName(bool on_nodes) { return on_nodes ? "nodes" : "pool"; }

std::string_view FilterName(SwfFilter filter) {
  return filter == SwfFilter::kStudy ? "study" : "loose";
}

}  // namespace spate::cli
