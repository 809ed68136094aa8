#include "cli/options/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/near.h"
#include "base/units.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"
#include "format/selector/selector.h"

namespace spate::cli {

Result<JobSelector> SelectJobs(std::span<const std::string> words) {
  JobSelector all;
  for (const std::string& word : words) {
    auto one = TRY(format::ParseJobSelector(word));
    all.all |= one.all;
    all.last |= one.last;
    all.ranges.insert(all.ranges.end(), one.ranges.begin(), one.ranges.end());
  }
  return all;
}

Result<std::vector<wire::TaskPick>> SelectTasks(std::span<const std::string> words) {
  std::vector<wire::TaskPick> picks;
  for (const std::string& word : words) {
    wire::TaskPick& pick = picks.emplace_back();
    if (word.find('.') != std::string::npos) {
      auto tasks = TRY(format::ParseTaskSelector(word));
      pick.tasks = std::move(tasks);
    } else {
      auto jobs = TRY(SelectJobs({&word, 1}));
      pick.jobs = std::move(jobs);
    }
  }
  return picks;
}

Status LookUpNames(client::Asker& asker, std::vector<TasksOfJob>& tasks) {
  bool none = std::ranges::all_of(tasks, &std::vector<std::string>::empty, &TasksOfJob::names);
  bool whole =
      none && std::ranges::all_of(tasks, &std::vector<NumberRange>::empty, &TasksOfJob::ranges);
  if (whole) return {};
  auto found = client::QueryOne(asker, wire::FindTasks{tasks});
  // Numbers matter here only as names of other tasks.
  if (!found && none && found.error().kind != ErrorKind::kInvalid) return {};
  if (!found) return std::unexpected(std::move(found.error()));
  tasks = std::move(found->tasks);
  return {};
}

Result<std::optional<Duration>> TimeoutOf(const Words& words) {
  auto text = words.Last(opt::kTimeout);
  if (!text) return std::nullopt;
  auto timeout = ParseDuration(*text);
  if (!timeout) return Within("--timeout", std::move(timeout.error()));
  return *timeout;
}

Result<uint32_t> TaskStatesOf(const Words& words) {
  using std::string_view_literals::operator""sv;
  constexpr std::array kStates = {"queued"sv, "running"sv,   "succeeded"sv,
                                  "failed"sv, "cancelled"sv, "unknown"sv};
  uint32_t states = 0;
  auto values = words.All(opt::kFilter);
  for (const std::string& value : values) {
    for (std::string_view name : SplitCommas(value)) {
      auto at = std::ranges::find(kStates, name);
      if (at == kStates.end()) {
        return Fail(
            ErrorKind::kInvalid,
            fmt::format("--filter: '{}' is not a state of tasks{}; write one or more of: {}",
                        EscapeForScreen(name), DidYouMean(name, kStates), fmt::join(kStates, " ")));
      }
      states |= 1u << (at - kStates.begin());
    }
  }
  return values.empty() ? ~0u : states;
}

Result<uint64_t> LimitOf(const Words& words, uint64_t otherwise) {
  auto value = words.Last(opt::kLimit);
  if (!value) return otherwise;
  auto limit = ParseCount(*value);
  if (!limit) return Within("--limit", std::move(limit.error()));
  return limit;
}

}  // namespace spate::cli
