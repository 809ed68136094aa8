#include "history/pick.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/units.h"
#include "history/task_texts.h"

namespace spate::history {
namespace {

std::unexpected<Error> NoJobs(const Source& source) {
  return Fail(ErrorKind::kNotFound,
              fmt::format("there are no jobs {} yet; `spate {}` makes one", source.PlaceText(),
                          source.on_hub() ? "submit" : "run"));
}

// "1-5, 9 and 12": what there is, shortened to the newest.
std::string NumbersText(const std::vector<uint32_t>& numbers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    parts.push_back(end - i == 1 ? fmt::format("{}", numbers[i])
                                 : fmt::format("{}-{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  constexpr size_t kMostParts = 6;
  std::string before = parts.size() > kMostParts ? "..., " : "";
  if (parts.size() > kMostParts) parts.erase(parts.begin(), parts.end() - kMostParts);
  return before + fmt::format("{}", fmt::join(parts, ", "));
}

std::unexpected<Error> NoSuchJob(const Source& source, const NumberRange& range,
                                 const std::vector<uint32_t>& numbers) {
  std::string wanted = range.first == range.last
                           ? fmt::format("job {}", range.first)
                           : fmt::format("job from {} to {}", range.first, range.last);
  return Fail(
      ErrorKind::kNotFound,
      fmt::format("there is no {} {}; there {} {} (see: spate job list)", wanted,
                  source.PlaceText(), numbers.size() == 1 ? "is" : "are", NumbersText(numbers)));
}

// The newest job that was accepted; on a hub, of the viewer's own.
Result<uint32_t> LastJob(const Source& source, const std::vector<uint32_t>& numbers) {
  if (source.on_hub()) {
    const std::string& user = source.viewer.user;
    auto own = store::JobNumbers(source.place, user);
    if (!own) return std::unexpected(std::move(own.error()));
    if (!own->empty()) return own->back();
    return Fail(ErrorKind::kNotFound, fmt::format("{} has no jobs on the hub yet; name one by its "
                                                  "number (see: spate job list)",
                                                  EscapeForScreen(user)));
  }
  auto newest = store::NewestAccepted(source.place, numbers);
  if (!newest) return std::unexpected(std::move(newest.error()));
  if (*newest) return **newest;
  return NoJobs(source);
}

bool NamesNone(const JobSelector& named) {
  return !named.all && !named.last && named.ranges.empty();
}

Result<std::vector<uint32_t>> PickAmong(const Source& source, JobSelector named,
                                        const std::vector<uint32_t>& numbers, bool hidden_too) {
  if (NamesNone(named)) named.last = true;
  uint32_t last = 0;
  if (named.last) {
    auto found = LastJob(source, numbers);
    if (!found) return std::unexpected(std::move(found.error()));
    last = *found;
  }
  for (const NumberRange& range : named.ranges) {
    bool touched =
        std::ranges::any_of(numbers, [&](uint32_t number) { return range.Contains(number); });
    if (!touched) return NoSuchJob(source, range, numbers);
  }
  bool sees_all = !source.on_hub() || source.viewer.is_admin || hidden_too;
  auto open = sees_all ? Result<std::vector<uint32_t>>(numbers)
                       : store::JobNumbers(source.place, source.viewer.user);
  if (!open) return open;
  std::vector<uint32_t> picked;
  for (uint32_t number : numbers) {
    if (!named.Contains(number, last)) continue;
    // One that is named is refused later on.
    bool alone = std::ranges::any_of(named.ranges, [&](const NumberRange& range) {
      return range.first == number && range.last == number;
    });
    if (alone || std::ranges::binary_search(*open, number)) picked.push_back(number);
  }
  return picked;
}

PickedTasks& EntryOf(std::vector<PickedTasks>& picked, uint32_t job) {
  auto at = std::ranges::find(picked, job, &PickedTasks::job);
  if (at != picked.end()) return *at;
  return picked.emplace_back(PickedTasks{job, false, {}});
}

// The newest task of each name, in its list if there is one: a list that has changed may have had
// others before.
Result<std::vector<NumberRange>> RangesOf(const Source& source, uint32_t job,
                                          const std::vector<std::string>& names) {
  auto history = source.Open(job);
  if (!history) return std::unexpected(std::move(history.error()));
  auto replay = history->Replayed();
  if (!replay) return std::unexpected(std::move(replay.error()));
  std::map<std::string, uint32_t, std::less<>> numbers;
  for (const std::string& name : names) numbers.try_emplace(name, 0);
  TaskTexts texts(source, *history);
  const engine::JobState& job_state = (*replay)->job();
  for (TaskIndex i = 0; i < job_state.task_count(); ++i) {
    auto found = numbers.find(texts.Name(i));
    if (found == numbers.end()) continue;
    uint32_t& number = found->second;
    bool known = number > 0 && !job_state.LeftList(number - 1);
    if (!known || !job_state.LeftList(i)) number = i + 1;
  }
  std::vector<NumberRange> ranges;
  for (const auto& [name, number] : numbers) {
    if (number == 0) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("job {0} has no task that is called {1} (see: spate job tasks {0})",
                              job, EscapeForScreen(name)));
    }
    ranges.push_back({number, number});
  }
  return ranges;
}

Status AddTasks(const Source& source, const TasksOfJob& tasks, const std::vector<uint32_t>& numbers,
                std::vector<PickedTasks>& picked) {
  auto job = tasks.job ? Result<uint32_t>(*tasks.job) : LastJob(source, numbers);
  if (!job) return std::unexpected(std::move(job.error()));
  if (!std::ranges::binary_search(numbers, *job)) {
    return NoSuchJob(source, {*job, *job, 1}, numbers);
  }
  PickedTasks& entry = EntryOf(picked, *job);
  entry.all = entry.all || tasks.all;
  entry.ranges.insert(entry.ranges.end(), tasks.ranges.begin(), tasks.ranges.end());
  if (tasks.names.empty()) return {};
  auto named = RangesOf(source, *job, tasks.names);
  if (!named) return std::unexpected(std::move(named.error()));
  entry.ranges.insert(entry.ranges.end(), named->begin(), named->end());
  return {};
}

}  // namespace

Result<std::vector<uint32_t>> AllJobs(const Source& source) {
  auto numbers = store::JobNumbers(source.place);
  if (numbers && numbers->empty()) return NoJobs(source);
  return numbers;
}

Result<std::vector<uint32_t>> PickJobs(const Source& source, const JobSelector& named,
                                       bool hidden_too) {
  auto numbers = AllJobs(source);
  if (!numbers) return numbers;
  return PickAmong(source, named, *numbers, hidden_too);
}

Result<std::vector<PickedTasks>> PickTasks(const Source& source,
                                           const std::vector<wire::TaskPick>& named) {
  auto numbers = AllJobs(source);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  std::vector<PickedTasks> picked;
  static const std::vector<wire::TaskPick> kLast(1);
  for (const wire::TaskPick& pick : named.empty() ? kLast : named) {
    if (pick.tasks.empty() || !NamesNone(pick.jobs)) {
      auto jobs = PickAmong(source, pick.jobs, *numbers, false);
      if (!jobs) return std::unexpected(std::move(jobs.error()));
      for (uint32_t job : *jobs) EntryOf(picked, job).all = true;
    }
    for (const TasksOfJob& tasks : pick.tasks) {
      auto added = AddTasks(source, tasks, *numbers, picked);
      if (!added) return std::unexpected(std::move(added.error()));
    }
  }
  return picked;
}

Status VisitTasks(store::History& history, const PickedTasks& picked, uint32_t states,
                  const std::function<bool(const store::TaskSummary&)>& visit) {
  if (picked.all) return history.Tasks({.states = states, .left_list = false}, visit);
  auto replay = history.Replayed();
  if (!replay) return std::unexpected(std::move(replay.error()));
  const uint32_t tasks = (*replay)->job().task_count();
  std::vector<TaskIndex> wanted;
  for (const NumberRange& range : picked.ranges) {
    if (range.first > tasks) {
      return Fail(ErrorKind::kNotFound, fmt::format("job {} has no task {}; its tasks are 1 to {}",
                                                    picked.job, range.first, tasks));
    }
    uint64_t last = std::min<uint64_t>(range.last, tasks);
    for (uint64_t n = range.first; n <= last; n += range.step) {
      wanted.push_back(static_cast<TaskIndex>(n - 1));
    }
  }
  std::ranges::sort(wanted);
  auto [from, to] = std::ranges::unique(wanted);
  wanted.erase(from, to);
  bool more = true;
  for (size_t i = 0, end = 0; i < wanted.size() && more; i = end) {
    end = i + 1;
    while (end < wanted.size() && wanted[end] == wanted[end - 1] + 1) ++end;
    auto visited =
        history.Tasks({.states = states, .first = wanted[i], .count = end - i},
                      [&](const store::TaskSummary& task) { return more = visit(task); });
    if (!visited) return visited;
  }
  return {};
}

}  // namespace spate::history
