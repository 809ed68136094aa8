#include "cli/run/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/near.h"
#include "base/number.h"
#include "base/units.h"
#include "cli/options/values.h"
#include "format/dag_line.h"
#include "format/list_line.h"
#include "format/name_table.h"

namespace spate::cli {
namespace {

class Targets {
 public:
  Targets(RowKind kind, const TaskList& list) : count_(list.count) {
    TaskIndex next = 0;
    list.rows([&](std::string_view row) {
      std::string name;
      if (kind == RowKind::kDagTask) {
        name = format::DagTaskName(row);
      } else if (row.find("{name") != std::string_view::npos) {
        if (auto line = format::ParseListLine(row)) name = std::move(line->name);
      }
      if (!name.empty()) names_.Add(texts_.emplace_back(std::move(name)), next);
      ++next;
    });
  }

  bool has_names() const { return names_.size() > 0; }
  bool IsAll(std::string_view word) const { return word == "all" && !names_.Find(word); }

  // The same names as in selectors (format/selector/selector.h), but without ranges.
  Result<TaskIndex> Find(std::string_view word) const {
    constexpr std::string_view kNumberMark = "#", kNameMark = "name=";
    std::string_view text = word;
    if (word.starts_with(kNumberMark)) text.remove_prefix(kNumberMark.size());
    if (word.starts_with(kNameMark)) text.remove_prefix(kNameMark.size());
    auto named = word.starts_with(kNumberMark) ? std::nullopt : names_.Find(text);
    auto number = word.starts_with(kNameMark) ? std::nullopt : ReadNumber<uint32_t>(text);
    if (number && (*number == 0 || *number > count_)) number.reset();
    if (named && number && *named + 1 != *number) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--target {0} has two readings: task {0} by number, and task {1}, "
                              "which is called {0}; write '#{0}' or 'name={0}'",
                              EscapeForScreen(text), *named + 1));
    }
    if (named) return *named;
    if (number) return *number - 1;
    std::vector<std::string_view> names;
    for (size_t i = 0; i < names_.size(); ++i) names.push_back(names_.NameAt(i));
    return Fail(ErrorKind::kInvalid,
                fmt::format("--target: no task is called {}{}", EscapeForScreen(ShellQuote(text)),
                            EscapeForScreen(DidYouMean(text, names))));
  }

 private:
  const uint32_t count_;
  std::deque<std::string> texts_;  // that the table points to
  format::NameTable names_;
};

// Marks these tasks and all that they wait for as wanted.
void AddNeeded(std::vector<Edge> edges, std::vector<TaskIndex> next, std::vector<bool>& wanted) {
  std::ranges::sort(edges, {}, &Edge::child);
  while (!next.empty()) {
    const TaskIndex at = next.back();
    next.pop_back();
    if (wanted[at]) continue;
    wanted[at] = true;
    for (const Edge& edge : std::ranges::equal_range(edges, at, {}, &Edge::child)) {
      next.push_back(edge.parent);
    }
  }
}

// Tasks are numbered without those that are left out.
void Keep(std::vector<bool> wanted, TaskList& list) {
  RequestTable table;
  std::vector<TaskIndex> now(list.count);
  uint32_t count = 0;
  for (const RequestRun& run : list.runs) {
    for (TaskIndex i = run.first; i < run.first + run.count; ++i) {
      if (!wanted[i]) continue;
      now[i] = count;
      table.Add(count++, list.requests[run.request], [&] { return list.places[run.request]; });
    }
  }
  std::erase_if(list.edges, [&](const Edge& edge) { return !wanted[edge.child]; });
  for (Edge& edge : list.edges) edge = {now[edge.parent], now[edge.child]};
  list.count = count;
  list.requests = std::move(table.requests());
  list.runs = std::move(table.runs());
  list.places = std::move(table.places());
  list.rows = [all = std::move(list.rows), wanted = std::move(wanted)](const RowVisitor& visit) {
    size_t at = 0;
    all([&](std::string_view row) {
      if (wanted[at++]) visit(row);
    });
  };
}

}  // namespace

Status KeepTargets(const std::vector<std::string>& targets, RowKind kind, TaskList& list) {
  const Targets tasks(kind, list);
  if (!tasks.has_names() && list.edges.empty()) {
    return Fail(
        ErrorKind::kInvalid,
        "--target: no task of this list has a name; name a line's task with {name NAME}, and "
        "name the tasks that it waits for with {after NAME}");
  }
  std::vector<TaskIndex> named;
  for (const std::string& words : targets) {
    for (std::string_view word : SplitCommas(words)) {
      if (tasks.IsAll(word)) return {};
      named.push_back(TRY(tasks.Find(word)));
    }
  }
  std::vector<bool> wanted(list.count);
  AddNeeded(list.edges, std::move(named), wanted);
  Keep(std::move(wanted), list);
  return {};
}

}  // namespace spate::cli
