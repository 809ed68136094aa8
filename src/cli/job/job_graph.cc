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
#include "cli/job/job_graph.h"
#include "cli/job/job_verbs.h"
#include "cli/table/text_width.h"
#include "cli/text/end_text.h"
#include "cli/view/json_fields.h"

namespace spate::cli {
namespace {

constexpr uint32_t kMostDepths = 30;  // lines

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
    if (some.walls.at(i).ns > 0) task.wall = some.walls[i];
    if (some.planned.at(i).ns > 0) task.planned = some.planned[i];
    all.graph.tasks.push_back(std::move(task));
  }
  for (size_t i = 0; i < some.parents.size(); ++i) {
    all.graph.edges.push_back({some.parents[i], some.children.at(i)});
  }
}

// A line for each task.
void PrintLines(HistoryCall& call, const JobGraphFacts& facts, const Shape& shape) {
  for (TaskIndex i = 0; i < facts.graph.tasks.size(); ++i) {
    const GraphTask& task = facts.graph.tasks[i];
    if (call.form() == OutputForm::kQuiet) {
      call.Put(fmt::format("{}.{}\n", facts.job.value, i + 1));
      continue;
    }
    std::string parents;
    for (TaskIndex parent : shape.parents(i)) {
      parents += fmt::format("{}{}", parents.empty() ? "" : ",", parent + 1);
    }
    JsonLine line = TypedLine("graph_task");
    line.Number("job", facts.job.value).Number("task", int64_t{i} + 1);
    TextOrBase64(line, "name", task.name);
    line.Text("state", TaskStateName(task.state)).Number("depth", shape.depth(i));
    call.Put(line.Raw("parents", "[" + parents + "]"));
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

Result<JobGraphFacts> AskGraph(HistoryCall& call, JobSelector job) {
  JobGraphFacts facts;
  auto told = call.Ask(wire::LookAtGraph{std::move(job)},
                       [&](const GraphFacts& some) { Take(some, facts); });
  if (!told) return std::unexpected(std::move(told.error()));
  return facts;
}

Result<int> JobGraph(HistoryCall& call) {
  auto jobs = SelectJobs(call.words().words);
  if (!jobs) return std::unexpected(std::move(jobs.error()));
  auto asked = AskGraph(call, std::move(*jobs));
  if (!asked) return std::unexpected(std::move(asked.error()));
  const JobGraphFacts& facts = *asked;
  auto shape = Shape::Of(facts.graph);
  if (!shape) return std::unexpected(std::move(shape.error()));
  if (!call.human()) {
    PrintLines(call, facts, *shape);
    return kExitSuccess;
  }
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
