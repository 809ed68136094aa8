#include "cli/history/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/near.h"
#include "base/units.h"

namespace spate::cli {
namespace {

using store::TaskFilter;

std::unexpected<Error> NoJobs(const HistoryCall& call) {
  return Fail(ErrorKind::kNotFound,
              fmt::format("there are no jobs {} yet; `spate {}` makes one", call.PlaceText(),
                          call.on_hub() ? "submit" : "run"));
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

std::unexpected<Error> NoSuchJob(const HistoryCall& call, const NumberRange& range,
                                 const std::vector<uint32_t>& numbers) {
  std::string wanted = range.first == range.last
                           ? fmt::format("job {}", range.first)
                           : fmt::format("job from {} to {}", range.first, range.last);
  return Fail(ErrorKind::kNotFound,
              fmt::format("there is no {} {}; there {} {} (see: spate job list{})", wanted,
                          call.PlaceText(), numbers.size() == 1 ? "is" : "are",
                          NumbersText(numbers), call.StateOption()));
}

// Of these jobs, those that the caller may look into.
Result<std::vector<uint32_t>> OpenJobs(const HistoryCall& call,
                                       const std::vector<uint32_t>& numbers) {
  const Viewer& viewer = call.environment().viewer;
  bool sees_all = !call.on_hub() || viewer.is_admin || call.words().command == Command::kJobList;
  if (sees_all) return numbers;
  return store::JobNumbers(call.place(), viewer.user);
}

// The newest job that was accepted; on a hub, of the caller's own.
Result<uint32_t> LastJob(const HistoryCall& call, const std::vector<uint32_t>& numbers) {
  if (call.on_hub()) {
    const std::string& user = call.environment().viewer.user;
    auto own = store::JobNumbers(call.place(), user);
    if (!own) return std::unexpected(std::move(own.error()));
    if (!own->empty()) return own->back();
    return Fail(ErrorKind::kNotFound, fmt::format("{} has no jobs on the hub yet; name one by its "
                                                  "number (see: spate job list{})",
                                                  EscapeForScreen(user), call.StateOption()));
  }
  for (size_t i = numbers.size(); i > 0; --i) {
    auto summary = store::SummarizeJob(call.place(), numbers[i - 1]);
    if (summary) return numbers[i - 1];
    if (summary.error().kind != ErrorKind::kNotFound) return std::unexpected(summary.error());
  }
  return NoJobs(call);
}

Status AddJobs(HistoryCall& call, const std::string& word, const std::vector<uint32_t>& numbers,
               std::vector<uint32_t>& picked) {
  auto selector = format::ParseJobSelector(word);
  if (!selector) return std::unexpected(std::move(selector.error()));
  uint32_t last = 0;
  if (selector->last) {
    auto found = LastJob(call, numbers);
    if (!found) return std::unexpected(std::move(found.error()));
    last = *found;
  }
  for (const NumberRange& range : selector->ranges) {
    bool touched =
        std::ranges::any_of(numbers, [&](uint32_t number) { return range.Contains(number); });
    if (!touched) return NoSuchJob(call, range, numbers);
  }
  auto open = OpenJobs(call, numbers);
  if (!open) return std::unexpected(std::move(open.error()));
  for (uint32_t number : numbers) {
    if (!selector->Contains(number, last)) continue;
    // A range passes over what the caller may not see; one that is named is refused later on.
    bool named = std::ranges::any_of(selector->ranges, [&](const NumberRange& range) {
      return range.first == number && range.last == number;
    });
    if (named || std::ranges::binary_search(*open, number)) picked.push_back(number);
  }
  return {};
}

PickedTasks& EntryOf(std::vector<PickedTasks>& picked, uint32_t job) {
  auto at = std::ranges::find(picked, job, &PickedTasks::job);
  if (at != picked.end()) return *at;
  return picked.emplace_back(PickedTasks{job, false, {}});
}

Status AddTasks(HistoryCall& call, const std::string& word, const std::vector<uint32_t>& numbers,
                std::vector<PickedTasks>& picked) {
  auto selected = format::ParseTaskSelector(word);
  if (!selected) return std::unexpected(std::move(selected.error()));
  for (const TasksOfJob& tasks : *selected) {
    auto job = tasks.job ? Result<uint32_t>(*tasks.job) : LastJob(call, numbers);
    if (!job) return std::unexpected(std::move(job.error()));
    if (!std::ranges::binary_search(numbers, *job)) {
      return NoSuchJob(call, {*job, *job, 1}, numbers);
    }
    PickedTasks& entry = EntryOf(picked, *job);
    entry.all = entry.all || tasks.all;
    entry.ranges.insert(entry.ranges.end(), tasks.ranges.begin(), tasks.ranges.end());
  }
  return {};
}

}  // namespace

Result<std::vector<uint32_t>> AllJobs(HistoryCall& call) {
  auto numbers = store::JobNumbers(call.place());
  if (numbers && numbers->empty()) return NoJobs(call);
  return numbers;
}

Result<std::vector<uint32_t>> PickJobs(HistoryCall& call, std::span<const std::string> words) {
  auto numbers = AllJobs(call);
  if (!numbers) return numbers;
  static const std::string kLast[] = {"last"};
  if (words.empty()) words = kLast;
  std::vector<uint32_t> picked;
  for (const std::string& word : words) {
    if (auto added = AddJobs(call, word, *numbers, picked); !added) {
      return std::unexpected(std::move(added.error()));
    }
  }
  std::ranges::sort(picked);
  auto [from, to] = std::ranges::unique(picked);
  picked.erase(from, to);
  return picked;
}

Result<std::vector<PickedTasks>> PickTasks(HistoryCall& call, std::span<const std::string> words) {
  auto numbers = AllJobs(call);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  static const std::string kLast[] = {"last"};
  if (words.empty()) words = kLast;
  std::vector<PickedTasks> picked;
  for (const std::string& word : words) {
    Status added;
    if (word.find('.') != std::string::npos) {
      added = AddTasks(call, word, *numbers, picked);
    } else {
      std::vector<uint32_t> jobs;
      added = AddJobs(call, word, *numbers, jobs);
      for (uint32_t job : jobs) EntryOf(picked, job).all = true;
    }
    if (!added) return std::unexpected(std::move(added.error()));
  }
  return picked;
}

Status VisitTasks(store::History& history, const PickedTasks& picked, uint32_t states,
                  const std::function<bool(const store::TaskSummary&)>& visit) {
  if (picked.all) return history.Tasks({.states = states}, visit);
  auto counts = history.Counts();
  if (!counts) return std::unexpected(std::move(counts.error()));
  std::vector<TaskIndex> wanted;
  for (const NumberRange& range : picked.ranges) {
    if (range.first > counts->total) {
      return Fail(ErrorKind::kNotFound, fmt::format("job {} has no task {}; its tasks are 1 to {}",
                                                    picked.job, range.first, counts->total));
    }
    uint64_t last = std::min(range.last, counts->total);
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
      states |= TaskFilter::Bit(static_cast<TaskState>(at - kNames.begin()));
    }
  }
  return values.empty() ? ~0u : states;
}

}  // namespace spate::cli
