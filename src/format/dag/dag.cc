#include "format/dag/dag.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>

#include "core/model/limits.h"

namespace spate::format {
namespace {

// Tasks by name: open addressing over their numbers.
class NameTable {
 public:
  // False: the name is taken.
  bool Add(std::string_view name) {
    if (names_.size() * 2 >= slots_.size()) Grow();
    uint32_t& slot = SlotOf(name);
    if (slot != kFree) return false;
    slot = static_cast<uint32_t>(names_.size());
    names_.push_back(name);
    return true;
  }
  std::optional<TaskIndex> Find(std::string_view name) {
    if (names_.empty()) return std::nullopt;
    uint32_t slot = SlotOf(name);
    return slot == kFree ? std::nullopt : std::optional(slot);
  }
  std::string_view operator[](TaskIndex index) const { return names_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  uint32_t& SlotOf(std::string_view name) {
    size_t mask = slots_.size() - 1;
    size_t at = XXH3_64bits(name.data(), name.size()) & mask;
    while (slots_[at] != kFree && names_[slots_[at]] != name) at = (at + 1) & mask;
    return slots_[at];
  }
  void Grow() {
    slots_.assign(std::max<size_t>(slots_.size() * 2, 64), kFree);
    for (uint32_t i = 0; i < names_.size(); ++i) SlotOf(names_[i]) = i;
  }

  std::vector<std::string_view> names_;
  std::vector<uint32_t> slots_;  // a power of two of them
};

class DagReader {
 public:
  DagReader(std::string_view text, size_t most_errors,
            const std::function<void(const DagEntry&)>& visit)
      : text_(text), most_errors_(most_errors), visit_(visit) {}

  Dag Read() {
    ForLines([this](std::string_view line) { ReadLine(line); });
    dag_.tasks = names_.size();
    std::ranges::sort(dag_.edges);
    dag_.edges.erase(std::ranges::unique(dag_.edges).begin(), dag_.edges.end());
    if (dag_.error_count == 0) FindCircle();
    return std::move(dag_);
  }

 private:
  void ForLines(const auto& fn) {
    std::string_view left = text_;
    if (left.starts_with("\xEF\xBB\xBF")) left.remove_prefix(3);
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
      if (std::string_view name = DagTaskName(line); !name.empty()) names_.Add(name);
      return Wrong(std::move(task.error().message));
    }
    if (names_.size() == kLimits.tasks_per_job) {
      return Wrong(
          fmt::format("more than {} tasks in one run; split the graph", kLimits.tasks_per_job));
    }
    if (!names_.Add(task->name)) return Wrong("Duplicate task: " + ShownInDag(task->name));
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
    dag_.edges.push_back({*names_.Find(edge->first), *names_.Find(edge->second)});
  }

  void FindCircle() {
    constexpr size_t kNamed = 10;
    std::vector<TaskIndex> cycle = FindCycle(dag_.tasks, dag_.edges);
    if (cycle.empty()) return;
    std::string way;
    for (size_t i = 0; i < std::min(cycle.size(), kNamed); ++i) {
      way += ShownInDag(names_[cycle[i]]) + " -> ";
    }
    if (cycle.size() > kNamed) way += fmt::format("... {} more ... -> ", cycle.size() - kNamed);
    way += ShownInDag(names_[cycle.front()]);
    // The line that closes the circle.
    uint64_t closing = 0;
    ForLines([&](std::string_view line) {
      if (!IsEdgeRecord(line)) return;
      auto edge = ParseDagEdge(line);
      bool is_it =
          edge && edge->first == names_[cycle.back()] && edge->second == names_[cycle.front()];
      if (is_it && closing == 0) closing = line_;
    });
    line_ = closing;
    Wrong("the tasks wait for one another in a circle: " + way);
  }

  const std::string_view text_;
  const size_t most_errors_;
  const std::function<void(const DagEntry&)>& visit_;
  uint64_t line_ = 0;
  std::string_view id_;
  NameTable names_;
  Dag dag_;
};

}  // namespace

Dag ReadDag(std::string_view text, size_t most_errors,
            const std::function<void(const DagEntry&)>& visit) {
  return DagReader(text, most_errors, visit).Read();
}

}  // namespace spate::format
