#include "cli/simulate/simulation_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/table/page.h"
#include "cli/text/end_text.h"
#include "cli/view/json_line.h"

namespace spate::cli {
namespace {

std::string Seconds(double seconds) {
  return fmt::format("{:.2f} s ({})", seconds, FormatDuration(Duration::SecondsF(seconds)));
}

uint64_t DroppedOf(const format::Workload& workload) {
  uint64_t all = 0;
  for (uint64_t count : workload.dropped) all += count;
  return all;
}

// "8 (5 larger than the machine, 3 without a run time)"
std::string DroppedText(const format::Workload& workload) {
  std::string why;
  for (size_t i = 0; i < format::kSwfDrops; ++i) {
    if (workload.dropped[i] == 0) continue;
    why += fmt::format("{}{} {}", why.empty() ? "" : ", ", FormatCount(workload.dropped[i]),
                       format::SwfDropText(static_cast<format::SwfDrop>(i)));
  }
  return why.empty() ? "none" : fmt::format("{} ({})", FormatCount(DroppedOf(workload)), why);
}

std::string Decimals(double value) { return fmt::format("{:.6f}", value); }

}  // namespace

std::string OriginText(const format::SwfHeader& header) {
  std::string text = header.computer;
  if (!header.installation.empty()) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", header.installation);
  }
  if (!header.acknowledge.empty()) {
    text += fmt::format("{}thanks to {}", text.empty() ? "" : "; ", header.acknowledge);
  }
  return text;
}

std::string HumanText(const Simulation& simulation, uint32_t width) {
  const SimulateOptions& options = simulation.options;
  const Figures& figures = simulation.figures;
  std::string text;
  Page page(width, [&](std::string_view line) { text += line; });
  page.Title(fmt::format("{}, {} estimates, order {}", PolicyName(options.policy),
                         options.perfect ? "perfect" : "users'", OrderName(options.order)));
  page.Field("trace", options.trace);
  page.Field("origin", OriginText(simulation.header));
  page.Field("processors", FormatCount(simulation.workload.processors));
  page.Field("jobs", FormatCount(figures.jobs));
  page.Field("left out", DroppedText(simulation.workload));
  if (simulation.broken_lines > 0) {
    page.Field("broken lines", FormatCount(simulation.broken_lines));
  }
  page.Field("mean bounded slowdown", fmt::format("{:.4f}", figures.mean_bounded_slowdown));
  page.Field("largest", fmt::format("{:.4f}", figures.max_bounded_slowdown));
  page.Field("mean wait", Seconds(figures.mean_wait));
  page.Field("median wait", Seconds(static_cast<double>(figures.median_wait)));
  page.Field("longest wait", Seconds(static_cast<double>(figures.max_wait)));
  page.Field("use of the machine", fmt::format("{:.2f}%", 100 * figures.utilisation));
  page.Field("longest queue", CountOf(figures.queue_depth_max, "job"));
  page.Field("overtook another", CountOf(figures.overtook, "job"));
  page.Field("whole time", Seconds(static_cast<double>(figures.makespan)));
  return text;
}

std::string JsonText(const Simulation& simulation) {
  const SimulateOptions& options = simulation.options;
  const Figures& figures = simulation.figures;
  JsonLine line = TypedLine("simulation");
  TextOrBase64(line, "trace", options.trace);
  TextOrBase64(line, "computer", simulation.header.computer);
  TextOrBase64(line, "installation", simulation.header.installation);
  TextOrBase64(line, "acknowledge", simulation.header.acknowledge);
  line.Text("policy", PolicyName(options.policy)).Text("order", OrderName(options.order));
  line.Text("estimates", EstimatesName(options.perfect));
  line.Text("filter", FilterName(options.filter));
  line.Number("processors", simulation.workload.processors);
  line.Number("jobs", static_cast<int64_t>(figures.jobs));
  line.Number("dropped", static_cast<int64_t>(DroppedOf(simulation.workload)));
  line.Number("broken_lines", static_cast<int64_t>(simulation.broken_lines));
  line.Raw("mean_wait", Decimals(figures.mean_wait));
  line.Number("median_wait", figures.median_wait).Number("max_wait", figures.max_wait);
  line.Raw("mean_bounded_slowdown", Decimals(figures.mean_bounded_slowdown));
  line.Raw("max_bounded_slowdown", Decimals(figures.max_bounded_slowdown));
  line.Raw("utilisation", Decimals(figures.utilisation));
  line.Number("queue_depth_max", static_cast<int64_t>(figures.queue_depth_max));
  line.Number("overtook", static_cast<int64_t>(figures.overtook));
  line.Number("makespan", figures.makespan);
  return line.Finish();
}

std::string ScheduleText(const Simulation& simulation) {
  fmt::memory_buffer text;
  for (size_t i = 0; i < simulation.starts.size(); ++i) {
    const format::RigidJob& job = simulation.workload.jobs[i];
    const ReplayStart& start = simulation.starts[i];
    fmt::format_to(std::back_inserter(text), "{} {} {} {} {} {}\n", job.number, job.submit,
                   start.start, job.run, job.processors, start.overtakes ? 1 : 0);
  }
  return fmt::to_string(text);
}

}  // namespace spate::cli
