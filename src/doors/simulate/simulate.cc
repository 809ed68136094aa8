#include "doors/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "doors/simulate/plot.h"
#include "doors/simulate/read_history.h"
#include "doors/simulate/read_trace.h"
#include "doors/simulate/simulation_text.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"
#include "present/table/text_width.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

// Input of a simulation, and its origin.
struct Source {
  format::SwfHeader header;
  uint64_t broken_lines = 0;
  format::Workload workload;
  std::vector<uint32_t> nodes = {};  // cpus of each, where they count
  std::optional<RequestTable> requests = {};
};

// The machine that was typed, else one node with the processors of the trace's.
Result<std::vector<uint32_t>> NodesFor(const SimulateOptions& options,
                                       const format::SwfHeader& header) {
  const uint32_t nodes = std::max(options.nodes, 1u);
  const uint32_t processors = header.max_procs.value_or(0);
  uint32_t cpus = options.cpus;
  if (cpus == 0) {
    if (processors % nodes != 0) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("the {} processors of the trace's machine cannot be divided equally "
                              "among {} nodes; add --cpus C, for C on each node",
                              processors, nodes));
    }
    cpus = processors / nodes;
  }
  if (cpus > engine::place::GangMachine::kMostCpus) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("a node with {} cpus is too large; add --nodes N", cpus));
  }
  return std::vector(nodes, cpus);
}

Result<Source> OfTrace(const SimulateOptions& options) {
  auto trace = TRY(ReadTrace(options.trace));
  if (options.procs > 0 && trace.header.max_procs) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: its header states MaxProcs: {}; leave out --procs",
                            EscapeForScreen(options.trace), *trace.header.max_procs));
  }
  if (options.procs > 0) trace.header.max_procs = options.procs;
  std::vector<uint32_t> nodes;
  if (options.on_nodes && trace.header.max_procs.value_or(1) > 0) {
    auto found = NodesFor(options, trace.header);
    if (!found) return Within(EscapeForScreen(options.trace), std::move(found.error()));
    nodes = std::move(*found);
    trace.header.max_procs = static_cast<uint32_t>(nodes.size()) * nodes.front();
  }
  auto workload = format::WorkloadOf(trace, options.filter);
  if (!workload) return Within(EscapeForScreen(options.trace), std::move(workload.error()));
  return Source{std::move(trace.header), trace.broken_lines, std::move(*workload),
                std::move(nodes)};
}

Result<Source> OfHistory(const SimulateOptions& options) {
  auto found = TRY(ReadHistory(options.history));
  for (const std::string& problem : found.problems) {
    ReportError({ErrorKind::kCorrupt, problem});
  }
  auto workload = found.jobs.WorkloadOn({options.nodes, options.cpus});
  if (!workload) return Within(EscapeForScreen(options.history), std::move(workload.error()));
  Source source;
  source.header.computer = fmt::format("{} with {} each", present::CountOf(options.nodes, "node"),
                                       present::CountOf(options.cpus, "cpu"));
  source.header.installation = found.of_hub ? "jobs of a hub" : "jobs of runs";
  source.workload = std::move(*workload);
  if (options.on_nodes) source.nodes.assign(options.nodes, options.cpus);
  source.requests = found.jobs.DrainRequests();
  return source;
}

Result<Simulation> Run(SimulateOptions options) {
  auto source = TRY(options.is_history() ? OfHistory(options) : OfTrace(options));
  auto& jobs = source.workload.jobs;
  if (jobs.size() > options.first) jobs.resize(options.first);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.submit < b.submit; });
  const ReplayRules rules{.policy = options.policy,
                          .order = options.order,
                          .perfect = options.perfect,
                          .nodes = std::move(source.nodes),
                          .requests = source.requests ? &*source.requests : nullptr};
  auto starts = Replay(source.workload, rules);
  const Figures figures = FiguresOf(source.workload, starts);
  return Simulation{std::move(options),         std::move(source.header), source.broken_lines,
                    std::move(source.workload), std::move(starts),        figures};
}

Status WriteFiles(const Simulation& simulation) {
  const SimulateOptions& options = simulation.options;
  if (!options.schedule.empty()) {
    auto written = os::WriteFile(options.schedule, ScheduleText(simulation));
    if (!written) return written;
  }
  if (!options.plot.empty()) return os::WriteFile(options.plot, PlotText(simulation));
  return {};
}

Status Print(const Simulation& simulation) {
  switch (simulation.options.form) {
    case OutputForm::kJson:
      return os::WriteAll(os::kStdout, JsonText(simulation), "standard output");
    case OutputForm::kQuiet:
      return {};
    case OutputForm::kHuman:
      break;
  }
  auto width = os::PrintWidth(os::kStdout, os::Environment::OfProcess());
  return os::WriteAll(os::kStdout, HumanText(simulation, width.value_or(present::kWholeWidth)),
                      "standard output");
}

}  // namespace

int Simulate(SimulateOptions options) {
  auto simulation = Run(std::move(options));
  if (!simulation) return ReportError(simulation.error());
  if (auto written = WriteFiles(*simulation); !written) return ReportError(written.error());
  if (auto printed = Print(*simulation); !printed) return ReportError(printed.error());
  return kExitSuccess;
}

}  // namespace spate::cli
