// Who waits for whom among the tasks of a job: progress by depth and the critical path, or a
// picture.
#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/graph/critical_path.h"
#include "cli/graph/depth.h"
#include "cli/graph/dot.h"
#include "cli/graph/svg.h"
#include "cli/history/select.h"
#include "cli/job/job_verbs.h"
#include "cli/view/json_fields.h"

namespace spate::cli {
namespace {

constexpr uint32_t kMostDepths = 30;  // lines

struct JobGraphFacts {
  JobId job;
  std::string name;
  TaskGraph graph;
};

void Take(const GraphFacts& some, JobGraphFacts& all) {
  all.job = some.job;
  all.name = some.name;
  for (size_t i = 0; i < some.names.size(); ++i) {
    GraphTask task{.name = some.names[i],
                   .state = static_cast<TaskState>(some.states.at(i)),
                   .running = some.running.at(i) != 0,
                   .wall = {},
                   .planned = {}};
    if (task.name.empty()) task.name = fmt::format("{}", all.graph.tasks.size() + 1);
    if (some.walls.at(i).ns >= 0) task.wall = some.walls[i];
    if (some.planned.at(i).ns > 0) task.planned = some.planned[i];
    all.graph.tasks.push_back(std::move(task));
  }
  for (size_t i = 0; i < some.parents.size(); ++i) {
    all.graph.edges.push_back({some.parents[i], some.children.at(i)});
  }
}

void PrintText(HistoryCall& call, const JobGraphFacts& facts, const Shape& shape) {
  const std::vector<Phase> phases = PhasesOf(facts.graph, shape);
  call.Put(fmt::format("job {}  {}  {}, {}\n", facts.job.value, EscapeForScreen(facts.name),
                       CountOf(facts.graph.tasks.size(), "task"),
                       CountOf(facts.graph.edges.size(), "edge")));
  call.Put(DepthTable(ProgressByDepth(phases, shape, kMostDepths), call.width(),
                      call.environment().colour));
  const CriticalPath critical = CriticalPathOf(facts.graph, shape);
  const char* label = "critical path  ";
  for (const std::string& line : CriticalPathLines(critical, facts.graph, phases)) {
    call.Put(fmt::format("{}{}\n", label, EscapeForScreen(line)));
    label = "               ";
  }
}

}  // namespace

Result<int> JobGraph(HistoryCall& call) {
  auto jobs = SelectJobs(call.words().words);
  if (!jobs) return std::unexpected(std::move(jobs.error()));
  JobGraphFacts facts;
  auto told = call.Ask(wire::LookAtGraph{std::move(*jobs)}, [&](const GraphFacts& some) {
    if (call.form() == OutputForm::kJson) return call.Put(JsonOf("graph", some));
    Take(some, facts);
  });
  if (!told) return std::unexpected(std::move(told.error()));
  if (call.form() == OutputForm::kJson) return kExitSuccess;
  auto shape = Shape::Of(facts.graph);
  if (!shape) return std::unexpected(std::move(shape.error()));
  const std::string title = fmt::format("job {}  {}", facts.job.value, facts.name);
  const TextSink put = [&](std::string_view text) { call.Put(text); };
  if (call.words().Has(Opt::kSvg)) {
    const CriticalPath critical = CriticalPathOf(facts.graph, *shape);
    WriteSvg({facts.graph, *shape, critical, title}, put);
  } else if (call.words().Has(Opt::kDot)) {
    WriteDot(facts.graph, *shape, CriticalPathOf(facts.graph, *shape), title, put);
  } else {
    PrintText(call, facts, *shape);
  }
  return kExitSuccess;
}

}  // namespace spate::cli
