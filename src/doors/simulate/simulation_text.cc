#include "doors/simulate/simulation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "base/units.h"
#include "doors/simulate/job_history.h"
#include "present/json/json_fields.h"
#include "present/table/page.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

// Sums of a strange trace may be more than a Duration holds.
std::string TimeText(int64_t time, int64_t second) {
  constexpr int64_t kMost = Duration::Max().ns / 1'000'000'000;
  return FormatDuration(Duration::Seconds(std::min(time / second, kMost)));
}

// "6,814.9733"
std::string Thousands(std::string_view number) {
  const size_t point = std::min(number.find('.'), number.size());
  const auto whole = ReadNumber<uint64_t>(number.substr(0, point));
  if (!whole) return std::string(number);
  return FormatCount(*whole) + std::string(number.substr(point));
}

// Whole seconds as they are, parts of them with six decimals.
std::string SecondsText(int64_t time, int64_t second) {
  if (second == 1) return fmt::format("{}", time);
  return fmt::format("{:.6f}", static_cast<double>(time) / static_cast<double>(second));
}

// A task of a history goes by its job's number and its own.
std::string NameOf(const Simulation& simulation, int64_t number) {
  if (!simulation.options.is_history()) return fmt::format("{}", number);
  return fmt::format("{}.{}", number >> kTaskBits, number & ((int64_t{1} << kTaskBits) - 1));
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

std::string NumberText(double value, int decimals) {
  return Thousands(fmt::format("{:.{}f}", value, decimals));
}

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

const std::string& SourceOf(const SimulateOptions& options) {
  return options.is_history() ? options.history : options.trace;
}

std::string TitleText(const SimulateOptions& options) {
  std::string_view users = options.is_history() ? "--time or median as" : "users'";
  return fmt::format("{}, {} estimates, order {}{}", WordOf(options.policy),
                     options.perfect ? "perfect" : users, WordOf(options.order),
                     options.on_nodes ? ", placed on nodes" : "");
}

std::string HumanText(const Simulation& simulation, uint32_t width) {
  const SimulateOptions& options = simulation.options;
  const Figures& figures = simulation.figures;
  std::string text;
  present::Page page(width, [&](std::string_view line) { text += line; });
  page.Title(TitleText(options));
  page.Field(options.is_history() ? "history" : "trace", SourceOf(options));
  page.Field("origin", OriginText(simulation.header));
  std::string label = "header";
  for (const std::string& odd : simulation.header.odd) {
    page.Field(std::exchange(label, ""), odd);
  }
  page.Field("processors", FormatCount(simulation.workload.processors));
  page.Field("jobs", FormatCount(figures.jobs));
  page.Field("left out", DroppedText(simulation.workload));
  if (simulation.broken_lines > 0) {
    page.Field("broken", present::CountOf(simulation.broken_lines, "line"));
  }
  page.Field("slowdown", fmt::format("mean {}, at most {} (bounded)",
                                     NumberText(figures.mean_bounded_slowdown, 4),
                                     NumberText(figures.max_bounded_slowdown, 4)));
  const int64_t second = simulation.workload.second;
  page.Field("wait",
             fmt::format("mean {} s, median {} s, at most {} s", NumberText(figures.mean_wait, 4),
                         Thousands(SecondsText(figures.median_wait, second)),
                         Thousands(SecondsText(figures.max_wait, second))));
  page.Field("use", fmt::format("{:.2f}% of the processors, over {}", 100 * figures.utilisation,
                                TimeText(figures.makespan, second)));
  page.Field("queue", fmt::format("at most {}", present::CountOf(figures.queue_depth_max, "job")));
  page.Field("overtook", present::CountOf(figures.overtook, "job"));
  return text;
}

std::string JsonText(const Simulation& simulation) {
  const SimulateOptions& options = simulation.options;
  const Figures& figures = simulation.figures;
  const int64_t second = simulation.workload.second;
  auto mean = [](double value) { return present::Json{Decimals(value)}; };
  auto time = [second](int64_t value) { return present::Json{SecondsText(value, second)}; };
  return present::JsonOf(
      "simulation", "trace", SourceOf(options), "computer", simulation.header.computer,
      "installation", simulation.header.installation, "acknowledge", simulation.header.acknowledge,
      "policy", WordOf(options.policy), "order", WordOf(options.order), "estimates",
      EstimatesName(options.perfect), "filter",
      options.is_history() ? "history" : WordOf(options.filter), "processors",
      simulation.workload.processors, "jobs", figures.jobs, "dropped",
      DroppedOf(simulation.workload), "broken_lines", simulation.broken_lines, "mean_wait",
      mean(figures.mean_wait), "median_wait", time(figures.median_wait), "max_wait",
      time(figures.max_wait), "mean_bounded_slowdown", mean(figures.mean_bounded_slowdown),
      "max_bounded_slowdown", mean(figures.max_bounded_slowdown), "utilisation",
      mean(figures.utilisation), "queue_depth_max", figures.queue_depth_max, "overtook",
      figures.overtook, "makespan", time(figures.makespan), "placement",
      PlacementName(options.on_nodes), "odd_headers", simulation.header.odd);
}

std::string ScheduleText(const Simulation& simulation) {
  fmt::memory_buffer text;
  for (size_t i = 0; i < simulation.starts.size(); ++i) {
    const format::RigidJob& job = simulation.workload.jobs[i];
    const ReplayStart& start = simulation.starts[i];
    auto time = [&](int64_t at) { return SecondsText(at, simulation.workload.second); };
    fmt::format_to(std::back_inserter(text), "{} {} {} {} {} {}\n", NameOf(simulation, job.number),
                   time(job.submit), time(start.start), time(job.run), job.processors,
                   start.overtakes ? 1 : 0);
  }
  return fmt::to_string(text);
}

}  // namespace spate::cli
