#include "cli/history/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/near.h"
#include "base/units.h"
#include "cli/options/values.h"
#include "format/selector/selector.h"

namespace spate::cli {

Result<JobSelector> SelectJobs(std::span<const std::string> words) {
  JobSelector all;
  for (const std::string& word : words) {
    auto one = format::ParseJobSelector(word);
    if (!one) return std::unexpected(std::move(one.error()));
    all.all |= one->all;
    all.last |= one->last;
    all.ranges.insert(all.ranges.end(), one->ranges.begin(), one->ranges.end());
  }
  return all;
}

Result<std::vector<wire::TaskPick>> SelectTasks(std::span<const std::string> words) {
  std::vector<wire::TaskPick> picks;
  for (const std::string& word : words) {
    wire::TaskPick& pick = picks.emplace_back();
    if (word.find('.') != std::string::npos) {
      auto tasks = format::ParseTaskSelector(word);
      if (!tasks) return std::unexpected(std::move(tasks.error()));
      pick.tasks = std::move(*tasks);
    } else {
      auto jobs = SelectJobs({&word, 1});
      if (!jobs) return std::unexpected(std::move(jobs.error()));
      pick.jobs = std::move(*jobs);
    }
  }
  return picks;
}

Status LookUpNames(client::Asker& asker, std::vector<TasksOfJob>& tasks) {
  if (std::ranges::all_of(tasks, &std::vector<std::string>::empty, &TasksOfJob::names)) return {};
  auto found = client::AskOne(asker, wire::FindTasks{tasks});
  if (!found) return std::unexpected(std::move(found.error()));
  tasks = std::move(found->tasks);
  return {};
}

Result<uint32_t> TaskStatesOf(const Words& words) {
  using std::string_view_literals::operator""sv;
  constexpr std::array kNames = {"queued"sv, "running"sv,   "succeeded"sv,
                                 "failed"sv, "cancelled"sv, "unknown"sv};
  uint32_t states = 0;
  auto values = words.All(Opt::kFilter);
  for (const std::string& value : values) {
    for (std::string_view name : SplitCommas(value)) {
      auto at = std::ranges::find(kNames, name);
      if (at == kNames.end()) {
        return Fail(
            ErrorKind::kInvalid,
            fmt::format("--filter: '{}' is no state of a task{}; write some of: {}",
                        EscapeForScreen(name), DidYouMean(name, kNames), fmt::join(kNames, " ")));
      }
      states |= 1u << (at - kNames.begin());
    }
  }
  return values.empty() ? ~0u : states;
}

}  // namespace spate::cli
