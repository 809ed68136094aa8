#include "cli/simulate/simulate.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "cli/simulate/plot.h"
#include "cli/simulate/read_trace.h"
#include "cli/simulate/simulation_text.h"
#include "cli/table/text_width.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::cli {
namespace {

Result<Simulation> Run(SimulateOptions options) {
  auto trace = ReadTrace(options.trace);
  if (!trace) return std::unexpected(std::move(trace.error()));
  auto workload = format::WorkloadOf(*trace, options.filter);
  if (!workload) return Within(EscapeForScreen(options.trace), std::move(workload.error()));
  auto& jobs = workload->jobs;
  if (jobs.size() > options.first) jobs.resize(options.first);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.submit < b.submit; });
  const ReplayRules rules{{.policy = options.policy, .processors = workload->processors},
                          options.order,
                          options.perfect};
  auto starts = Replay(jobs, rules);
  const Figures figures = FiguresOf(jobs, starts, workload->processors);
  return Simulation{std::move(options),   std::move(trace->header), trace->broken_lines,
                    std::move(*workload), std::move(starts),        figures};
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
  return os::WriteAll(os::kStdout, HumanText(simulation, width.value_or(kWholeWidth)),
                      "standard output");
}

}  // namespace

int Simulate(const Invocation& invocation) {
  auto options = MakeSimulateOptions(invocation.words);
  if (!options) return ReportError(options.error());
  auto simulation = Run(std::move(*options));
  if (!simulation) return ReportError(simulation.error());
  if (auto written = WriteFiles(*simulation); !written) return ReportError(written.error());
  if (auto printed = Print(*simulation); !printed) return ReportError(printed.error());
  return kExitSuccess;
}

}  // namespace spate::cli
