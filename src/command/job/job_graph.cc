#include "command/job/job_graph.h"

#include <fmt/format.h>

#include <utility>

namespace spate::cli {
namespace {

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
    present::GraphTask task{.name = some.names[i],
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
  std::vector<present::GraphTask> tasks = std::move(facts.graph.tasks);
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

}  // namespace

Result<JobGraphFacts> AskGraph(HistoryCall& call, JobSelector job) {
  Gathered gathered;
  TRY(call.Query(wire::LookAtGraph{std::move(job)},
                 [&](const GraphFacts& some) { Take(some, gathered); }));
  return WithoutWithdrawn(std::move(gathered));
}

}  // namespace spate::cli
