#include "doors/pmc/run/workflow.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/ranges.h"
#include "core/model/request_table.h"
#include "format/dag/dag.h"

namespace spate::pmc {

Result<Workflow> ReadWorkflow(std::string text, const std::string& path) {
  Workflow workflow;
  workflow.text = std::move(text);
  RequestTable requests;
  auto take = [&](const format::DagEntry& entry) {
    auto place = [&] { return fmt::format("{}:{}", path, entry.line); };
    auto index = static_cast<TaskIndex>(workflow.tasks.size());
    uint32_t request = requests.Add(index, format::ClassOf(entry.task, Needs()), place);
    bool forwards = !entry.task.pipe_forwards.empty() || !entry.task.file_forwards.empty();
    workflow.tasks.push_back({entry.row, entry.task.name, entry.id, request, forwards});
  };
  format::Dag dag = format::ReadDag(workflow.text, kLimits.list_errors, take);
  if (dag.error_count > 0) {
    std::string all;
    for (const format::DagError& error : dag.errors) {
      all += fmt::format("{}{}\n{}:{}", all.empty() ? "" : "\n", EscapeForScreen(error.text), path,
                         error.line);
    }
    if (dag.error_count > dag.errors.size()) {
      all += fmt::format("\n... and {} more", dag.error_count - dag.errors.size());
    }
    return Fail(ErrorKind::kInvalid, std::move(all));
  }
  workflow.edges = std::move(dag.edges);
  workflow.requests = std::move(requests.requests());
  workflow.first_places = std::move(requests.places());
  return workflow;
}

std::vector<bool> DoneTasks(const Workflow& workflow,
                            const std::unordered_set<std::string_view>& said) {
  const auto count = static_cast<uint32_t>(workflow.tasks.size());
  std::vector<bool> done(count);
  if (said.empty()) return done;
  for (TaskIndex i = 0; i < count; ++i) done[i] = said.contains(workflow.tasks[i].name);
  VisitInOrder(count, workflow.edges, [&](TaskIndex task, std::span<const TaskIndex> children) {
    if (done[task]) return;
    for (TaskIndex child : children) done[child] = false;
  });
  return done;
}

Remaining WithoutDone(const Workflow& workflow, const std::vector<bool>& done) {
  Remaining remaining;
  std::vector<TaskIndex> number(workflow.tasks.size());  // of those that are left
  for (TaskIndex i = 0; i < workflow.tasks.size(); ++i) {
    if (done[i]) continue;
    number[i] = static_cast<TaskIndex>(remaining.left.size());
    AppendRequest(remaining.plan.runs, number[i], workflow.tasks[i].request);
    remaining.left.push_back(i);
  }
  for (const Edge& edge : workflow.edges) {
    // A child of what is not done is not done.
    if (!done[edge.parent]) remaining.edges.push_back({number[edge.parent], number[edge.child]});
  }
  remaining.plan.task_count = static_cast<uint32_t>(remaining.left.size());
  remaining.plan.requests = workflow.requests;
  return remaining;
}

}  // namespace spate::pmc
