#include "format/dag/dag.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/units.h"
#include "core/model/limits.h"
#include "format/byte_order_mark.h"
#include "format/name_table.h"

namespace spate::format {
namespace {

// A task goes to its node in one message, which takes no longer row (wire/limits.h).
constexpr size_t kMostLine = 4u << 20;

class DagReader {
 public:
  DagReader(std::string_view text, size_t most_errors, std::span<const std::string> known,
            const std::function<void(const DagEntry&)>& visit)
      : text_(text),
        most_errors_(most_errors),
        known_(static_cast<TaskIndex>(known.size())),
        visit_(visit) {
    for (TaskIndex i = known_; i > 0; --i) {  // of equal names the newest
      if (!known[i - 1].empty()) names_.Add(known[i - 1], i - 1);
    }
    known_names_ = names_.size();
  }

  Dag Read() {
    ForLines([this](std::string_view line) { ReadLine(line); });
    dag_.tasks = Added();
    std::ranges::sort(dag_.edges);
    dag_.edges.erase(std::ranges::unique(dag_.edges).begin(), dag_.edges.end());
    if (dag_.error_count == 0) FindCircle();
    return std::move(dag_);
  }

 private:
  TaskIndex Added() const { return static_cast<TaskIndex>(names_.size() - known_names_); }
  bool Add(std::string_view name) { return names_.Add(name, known_ + Added()); }
  std::string_view NameOf(TaskIndex added) const {
    return names_.NameAt(known_names_ + (added - known_));
  }

  void ForLines(const auto& fn) {
    std::string_view left = WithoutByteOrderMark(text_);
    for (line_ = 1; !left.empty(); ++line_) {
      size_t end = std::min(left.find('\n'), left.size());
      fn(TrimDagLine(left.substr(0, end)));
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }

  void Wrong(std::string text) {
    if (dag_.error_count++ < most_errors_) dag_.errors.push_back({line_, std::move(text)});
  }
  void WrongRecord(const char* kind, std::string_view line) { Wrong(InvalidDagRecord(kind, line)); }

  void ReadLine(std::string_view line) {
    if (line.empty()) return;
    if (line.starts_with("#@")) return ReadPegasus(line);
    if (line.starts_with('#')) return;
    if (IsTaskRecord(line)) return ReadTask(line);
    if (IsEdgeRecord(line)) return ReadEdge(line);
    WrongRecord("DAG", line);
  }

  // "#@ number transformation id": the number belongs to the next task.
  void ReadPegasus(std::string_view line) {
    std::string_view fields[3];
    std::string_view text = line.substr(std::min(line.find_first_of(" \t"), line.size()));
    for (std::string_view& field : fields) {
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      field = text.substr(0, text.find_first_of(" \t"));
      text.remove_prefix(field.size());
      if (field.empty()) return WrongRecord("#@", line);
    }
    id_ = fields[0];
  }

  void ReadTask(std::string_view line) {
    std::string_view id = std::exchange(id_, {});
    auto task = ParseDagTask(line);
    if (!task) {
      // Its edges are not wrong as well.
      if (std::string_view name = DagTaskName(line); !name.empty()) Add(name);
      return Wrong(std::move(task.error().message));
    }
    if (Added() == kLimits.tasks_per_job) {
      return Wrong(
          fmt::format("more than {} tasks in one run; split the graph", kLimits.tasks_per_job));
    }
    if (!Add(task->name)) return Wrong("Duplicate task: " + ShownInDag(task->name));
    // The node's system limits the arguments.
    if (line.size() > kMostLine) {
      return Wrong(
          fmt::format("Task {}: its line is {} bytes long, but at most {} are sent to a node; pass "
                      "the arguments in a file",
                      ShownInDag(task->name), FormatCount(line.size()), FormatCount(kMostLine)));
    }
    if (dag_.error_count == 0) visit_({line_, line, *task, id});
  }

  void ReadEdge(std::string_view line) {
    auto edge = ParseDagEdge(line);
    if (!edge) return Wrong(std::move(edge.error().message));
    for (std::string_view name : {edge->first, edge->second}) {
      if (!names_.Find(name)) return Wrong("No such task: " + ShownInDag(name));
    }
    if (dag_.edges.size() == kLimits.edges_per_job) {
      return Wrong(fmt::format("more than {} edges in one run", kLimits.edges_per_job));
    }
    TaskIndex child = *names_.Find(edge->second);
    if (child < known_) {
      return Wrong("task " + ShownInDag(edge->second) +
                   " existed before, and cannot wait for additional tasks");
    }
    dag_.edges.push_back({*names_.Find(edge->first), child});
  }

  void FindCircle() {
    std::vector<TaskIndex> cycle = FindCycle(known_ + dag_.tasks, dag_.edges);
    if (cycle.empty()) return;
    // The line that closes the circle.
    uint64_t closing = 0;
    ForLines([&](std::string_view line) {
      if (!IsEdgeRecord(line)) return;
      auto edge = ParseDagEdge(line);
      bool is_it =
          edge && edge->first == NameOf(cycle.back()) && edge->second == NameOf(cycle.front());
      if (is_it && closing == 0) closing = line_;
    });
    line_ = closing;
    Wrong(CircleText(cycle, [this](TaskIndex task) { return ShownInDag(NameOf(task)); }));
  }

  const std::string_view text_;
  const size_t most_errors_;
  const TaskIndex known_;  // so many tasks the job has
  const std::function<void(const DagEntry&)>& visit_;
  uint64_t line_ = 0;
  std::string_view id_;
  NameTable names_;         // first the known ones
  size_t known_names_ = 0;  // so many of them have a name of their own
  Dag dag_;
};

}  // namespace

Dag ReadDag(std::string_view text, size_t most_errors,
            const std::function<void(const DagEntry&)>& visit, std::span<const std::string> known) {
  return DagReader(text, most_errors, known, visit).Read();
}

}  // namespace spate::format
