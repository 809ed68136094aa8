// `spate job graph`
#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/job_graph.h"
#include "present/graph/critical_path.h"
#include "present/graph/depth.h"
#include "present/graph/dot.h"
#include "present/graph/svg.h"
#include "present/json/json_fields.h"
#include "present/table/text_width.h"
#include "present/text/end_text.h"

namespace spate::cli::command {
namespace {

constexpr Option kSvg = {
    .names = "svg",
    .heading = Heading::kSelect,
    .help = "write an SVG picture to standard output",
    .more = "Up to 3,000 tasks: a box for each task. More tasks: a bar for each depth."};

constexpr Option kDot = {.names = "dot",
                         .heading = Heading::kSelect,
                         .help = "write text for Graphviz to standard output"};

constexpr uint32_t kMostDepths = 30;  // lines

// A line for each task.
void PrintLines(HistoryCall& call, const JobGraphFacts& facts, const present::Shape& shape) {
  for (TaskIndex i = 0; i < facts.graph.tasks.size(); ++i) {
    const present::GraphTask& task = facts.graph.tasks[i];
    if (call.form() == OutputForm::kQuiet) {
      call.Write(fmt::format("{}.{}\n", facts.job.value, facts.numbers[i]));
      continue;
    }
    std::vector<uint32_t> parents;
    for (TaskIndex parent : shape.parents(i)) parents.push_back(facts.numbers[parent]);
    call.Write(present::JsonOf("graph_task", "job", facts.job, "task", facts.numbers[i], "name",
                               task.name, "state", task.state, "depth", shape.depth(i), "parents",
                               parents));
  }
}

void PrintText(HistoryCall& call, const JobGraphFacts& facts, const present::Shape& shape) {
  const std::vector<present::Phase> phases = present::PhasesOf(facts.graph, shape);
  call.Write(fmt::format("job {}  {}  {}, {}\n", facts.job.value, EscapeForScreen(facts.name),
                         present::CountOf(facts.graph.tasks.size(), "task"),
                         present::CountOf(facts.graph.edges.size(), "edge")));
  call.Write(present::DepthTable(present::ProgressByDepth(phases, shape, kMostDepths), call.width(),
                                 call.environment().colour));
  const present::CriticalPath critical = present::CriticalPathOf(facts.graph, shape);
  const char* label = "critical path  ";
  for (const std::string& line : present::CriticalPathLines(critical, facts.graph, phases)) {
    call.Write(fmt::format("{}{}\n", label, EscapeForScreen(line)));
    label = "               ";
  }
}

Result<int> JobGraph(HistoryCall& call) {
  auto jobs = TRY(SelectJobs(call.words().words));
  auto asked = TRY(AskGraph(call, std::move(jobs)));
  const JobGraphFacts& facts = asked;
  auto shape = TRY(present::Shape::Of(facts.graph));
  if (!call.human()) {
    PrintLines(call, facts, shape);
    return kExitSuccess;
  }
  const std::string title = fmt::format("job {}  {}", facts.job.value, facts.name);
  const present::TextSink put = [&](std::string_view text) { call.Write(text); };
  if (call.words().Has(kSvg)) {
    const present::CriticalPath critical = present::CriticalPathOf(facts.graph, shape);
    present::WriteSvg({facts.graph, shape, critical, title}, put);
  } else if (call.words().Has(kDot)) {
    present::WriteDot(facts.graph, shape, present::CriticalPathOf(facts.graph, shape), title, put);
  } else {
    PrintText(call, facts, shape);
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kJobGraph = {
    .order = 50,
    .group = CommandGroup::kHistory,
    .name = "job graph",
    .arguments = "[JOB]",
    .completes = Completes::kJobs,
    .summary = "show the dependencies of a job's tasks (default: last)",
    .details =
        "Prints the progress by depth and the critical path, which are the tasks that determine "
        "how long the job takes. Times are measured times if known, else planned times.",
    .examples = {{{"spate job graph", "of the newest job"},
                  {"spate job graph 12 --svg > graph.svg", "a picture"},
                  {"spate job graph 12 --dot | dot -Tpdf > graph.pdf", "with Graphviz"}}},
    .options = {{opt::kAboutJobs, kSvg, kDot}},
    .run = LookAtJobs<JobGraph>,
};

}  // namespace spate::cli::command
