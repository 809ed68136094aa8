// Two passes: down the graph for the earliest start of each task and the parent that decides it,
// up for the time from its start to the end of all that follows. What lies between is slack.
#include "present/graph/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "present/text/end_text.h"

namespace spate::present {
namespace {

constexpr TaskIndex kNoTask = ~TaskIndex{0};

Duration Sum(Duration a, Duration b) { return a > Duration::Max() - b ? Duration::Max() : a + b; }

// Key that chooses a longest path: time, then tasks.
struct Reach {
  Duration end;
  uint32_t tasks = 0;
  friend auto operator<=>(const Reach&, const Reach&) = default;
};

class Finder {
 public:
  Finder(const TaskGraph& graph, const Shape& shape) : graph_(graph), shape_(shape) {}

  CriticalPath Find() {
    found_.times.resize(shape_.tasks());
    reach_.resize(shape_.tasks());
    decides_.assign(shape_.tasks(), kNoTask);
    for (TaskIndex task : shape_.order()) GoDown(task);
    SetPath();
    const auto& order = shape_.order();
    tail_.resize(shape_.tasks());
    for (auto task = order.rbegin(); task != order.rend(); ++task) GoUp(*task);
    return std::move(found_);
  }

 private:
  void GoDown(TaskIndex task) {
    const GraphTask& it = graph_.tasks[task];
    if (!it.wall && !it.planned) ++found_.unknown;
    TaskTimes& times = found_.times[task];
    times.length = std::max(Duration(), it.wall ? *it.wall : it.planned.value_or(Duration()));
    Reach best;
    for (TaskIndex parent : shape_.parents(task)) {
      if (reach_[parent] > best) {
        best = reach_[parent];
        decides_[task] = parent;
      }
      ++found_.work;
    }
    times.earliest = best.end;
    reach_[task] = {Sum(best.end, times.length), best.tasks + 1};
    ++found_.work;
  }

  void SetPath() {
    auto last = std::max_element(reach_.begin(), reach_.end());
    if (last == reach_.end()) return;
    found_.total = last->end;
    auto task = static_cast<TaskIndex>(last - reach_.begin());
    for (; task != kNoTask; task = decides_[task]) found_.path.push_back(task);
    std::reverse(found_.path.begin(), found_.path.end());
  }

  void GoUp(TaskIndex task) {
    Duration after;
    for (TaskIndex child : shape_.children(task)) {
      after = std::max(after, tail_[child]);
      ++found_.work;
    }
    TaskTimes& times = found_.times[task];
    tail_[task] = Sum(times.length, after);
    // Below only when a sum was cut.
    times.latest = std::max(times.earliest, found_.total - tail_[task]);
    ++found_.work;
  }

  const TaskGraph& graph_;
  const Shape& shape_;
  CriticalPath found_;
  std::vector<Reach> reach_;        // at its end
  std::vector<TaskIndex> decides_;  // the parent that it starts after
  std::vector<Duration> tail_;      // from its start to the end of all that follows
};

std::string Percent(Duration part, Duration whole) {
  if (whole.ns == 0) return "";
  return fmt::format(", {:.0f} %", 100 * part.seconds() / whole.seconds());
}

std::string TimeText(const GraphTask& task) {
  if (task.wall) return FormatDuration(*task.wall);
  return task.planned ? fmt::format("{} planned", FormatDuration(*task.planned)) : "time unknown";
}

std::string SummaryLine(const CriticalPath& critical, const TaskGraph& graph) {
  Duration done;
  uint32_t succeeded = 0;
  for (TaskIndex task : critical.path) {
    if (graph.tasks[task].state != TaskState::kSucceeded) continue;
    done = Sum(done, critical.times[task].length);
    ++succeeded;
  }
  return fmt::format("{} in {}; done: {} of them ({}{})", FormatDuration(critical.total),
                     CountOf(critical.path.size(), "task"), FormatCount(succeeded),
                     FormatDuration(done), Percent(done, critical.total));
}

}  // namespace

CriticalPath CriticalPathOf(const TaskGraph& graph, const Shape& shape) {
  return Finder(graph, shape).Find();
}

std::vector<std::string> CriticalPathLines(const CriticalPath& critical, const TaskGraph& graph,
                                           const std::vector<Phase>& phases, uint32_t shown) {
  if (critical.path.empty()) return {};
  std::vector<std::string> lines = {SummaryLine(critical, graph)};
  size_t count = critical.path.size();
  size_t head = count <= shown ? count : (shown + 1) / 2;
  size_t tail = count <= shown ? count : count - shown / 2;
  for (size_t i = 0; i < count; i = i + 1 == head ? tail : i + 1) {
    if (i == tail && tail > head)
      lines.push_back(fmt::format("... {} more", FormatCount(tail - head)));
    const GraphTask& task = graph.tasks[critical.path[i]];
    lines.push_back(
        fmt::format("{}: {}, {}", task.name, TimeText(task), WordOf(phases[critical.path[i]])));
  }
  if (critical.unknown > 0) {
    lines.push_back(fmt::format("counted as 0: {} without a measured time or a --time",
                                CountOf(critical.unknown, "task")));
  }
  return lines;
}

}  // namespace spate::present
