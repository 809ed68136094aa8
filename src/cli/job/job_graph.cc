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

// The progress of a graph: all tasks of the job, in their order.
struct Gathered {
  JobGraphFacts facts;
  std::vector<TaskIndex> withdrawn;  // in any order
};

void Take(const GraphFacts& some, Gathered& gathered) {
  JobGraphFacts& all = gathered.facts;
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
  gathered.withdrawn.insert(gathered.withdrawn.end(), some.withdrawn.begin(), some.withdrawn.end());
}

// Another version of them may have taken their place.
JobGraphFacts WithoutWithdrawn(Gathered gathered) {
  JobGraphFacts& facts = gathered.facts;
  std::vector<GraphTask> tasks = std::move(facts.graph.tasks);
  std::vector<Edge> edges = std::move(facts.graph.edges);
  constexpr TaskIndex kNone = UINT32_MAX;
  std::vector<TaskIndex> becomes(tasks.size());
  for (TaskIndex index : gathered.withdrawn) becomes.at(index) = kNone;
  facts.graph = {};
  for (TaskIndex i = 0; i < tasks.size(); ++i) {
    if (becomes[i] == kNone) continue;
    becomes[i] = static_cast<TaskIndex>(facts.graph.tasks.size());
    facts.graph.tasks.push_back(std::move(tasks[i]));
    facts.numbers.push_back(i + 1);
  }
  for (const Edge& edge : edges) {
    const Edge now{becomes.at(edge.parent), becomes.at(edge.child)};
    if (now.parent != kNone && now.child != kNone) facts.graph.edges.push_back(now);
  }
  return std::move(facts);
}

// A line for each task.
void PrintLines(HistoryCall& call, const JobGraphFacts& facts, const Shape& shape) {
  for (TaskIndex i = 0; i < facts.graph.tasks.size(); ++i) {
    const GraphTask& task = facts.graph.tasks[i];
    if (call.form() == OutputForm::kQuiet) {
      call.Put(fmt::format("{}.{}\n", facts.job.value, facts.numbers[i]));
      continue;
    }
    std::string parents;
    for (TaskIndex parent : shape.parents(i)) {
      parents += fmt::format("{}{}", parents.empty() ? "" : ",", facts.numbers[parent]);
    }
    JsonLine line = TypedLine("graph_task");
    line.Number("job", facts.job.value).Number("task", facts.numbers[i]);
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
  Gathered gathered;
  auto told = call.Ask(wire::LookAtGraph{std::move(job)},
                       [&](const GraphFacts& some) { Take(some, gathered); });
  if (!told) return std::unexpected(std::move(told.error()));
  return WithoutWithdrawn(std::move(gathered));
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
