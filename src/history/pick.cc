#include "history/pick.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

#include "base/units.h"
#include "format/number_range.h"
#include "history/task_texts.h"
#include "os/file.h"

namespace spate::history {
namespace {

std::unexpected<Error> NoJobs(const Source& source) {
  // The folder of a hub, or one that has a hub's beside it, is easily taken for one of runs.
  const std::string& dir = source.history->place().dir;
  const std::string parent = dir.substr(0, std::max<size_t>(dir.rfind('/'), 1));
  for (const auto& [file, folder] : {std::pair{"hub.db", parent}, {"hub/hub.db", dir}}) {
    if (source.on_hub() || !os::Exists(os::JoinPath(dir, file))) continue;
    return Fail(ErrorKind::kNotFound,
                fmt::format("no runs {}, but a hub has its jobs there", source.PlaceText()),
                Remedy(" (see: {})", Advice("job list", "--hub", "--state", folder)));
  }
  return Fail(ErrorKind::kNotFound, fmt::format("no jobs {} yet", source.PlaceText()),
              Remedy("; `{}` makes one", Advice(source.on_hub() ? "submit" : "run")));
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
  return Fail(ErrorKind::kNotFound,
              fmt::format("no {} {}; there {} {}", wanted, source.PlaceText(),
                          numbers.size() == 1 ? "is" : "are", NumbersText(numbers)),
              Remedy(" (see: {})", Advice("job list")));
}

// The newest job that was accepted; on a hub, of the viewer's own.
Result<uint32_t> LastJob(const Source& source, const std::vector<uint32_t>& numbers) {
  if (source.on_hub()) {
    const std::string& user = source.viewer.user;
    auto own = TRY(source.history->Newest(user, 1)).numbers;
    if (!own.empty()) return own.back();
    return Fail(
        ErrorKind::kNotFound,
        fmt::format("{} has no jobs on the hub yet; name one by its number", EscapeForScreen(user)),
        Remedy(" (see: {})", Advice("job list")));
  }
  auto newest = TRY(source.history->NewestAccepted(numbers));
  if (newest) return *newest;
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
    auto found = TRY(LastJob(source, numbers));
    last = found;
  }
  for (const NumberRange& range : named.ranges) {
    bool touched =
        std::ranges::any_of(numbers, [&](uint32_t number) { return range.Contains(number); });
    if (!touched) return NoSuchJob(source, range, numbers);
  }
  bool sees_all = !source.on_hub() || source.viewer.is_admin || hidden_too;
  auto open =
      sees_all ? numbers : TRY(source.history->Newest(source.viewer.user, SIZE_MAX)).numbers;
  std::vector<uint32_t> picked;
  for (uint32_t number : numbers) {
    if (!named.Contains(number, last)) continue;
    // One that is named is refused later on.
    bool alone = std::ranges::any_of(named.ranges, [&](const NumberRange& range) {
      return range.first == number && range.last == number;
    });
    if (alone || std::ranges::binary_search(open, number)) picked.push_back(number);
  }
  return picked;
}

PickedTasks& EntryOf(std::vector<PickedTasks>& picked, uint32_t job) {
  auto at = std::ranges::find(picked, job, &PickedTasks::job);
  if (at != picked.end()) return *at;
  return picked.emplace_back(PickedTasks{job, false, {}});
}

std::string RangeText(const NumberRange& range) {
  if (range.first == range.last) return fmt::format("{}", range.first);
  if (range.step == 1) return fmt::format("{}-{}", range.first, range.last);
  return fmt::format("{}-{}:{}", range.first, range.last, range.step);
}

// Looks up the tasks of one job by their names.
class NamedTasks {
 public:
  explicit NamedTasks(const TasksOfJob& wanted) {
    for (const std::string& name : wanted.names) {
      if (!format::ParseMarkedRange(name)) by_name_.try_emplace(name, 0);
    }
    for (const NumberRange& range : wanted.ranges) by_range_.try_emplace(KeyOf(range));
  }
  bool empty() const { return by_name_.empty() && by_range_.empty(); }
  // The tasks whose names matter, in ranges that may overlap.
  Result<std::vector<TaskRange>> TasksToAdd(TaskTexts& texts, uint32_t tasks) const;

  // In ascending order. Of equal names the newest task counts, in its list if there is one: a list
  // that has changed may have had others before.
  void Add(const std::string& name, uint32_t number, const engine::JobState& job) {
    if (name.empty()) return;
    auto take = [&](uint32_t& known) {
      bool kept = known > 0 && !job.LeftList(known - 1);
      if (!kept || !job.LeftList(number - 1)) known = number;
    };
    if (auto found = by_name_.find(name); found != by_name_.end()) take(found->second);
    if (name.front() < '0' || name.front() > '9') return;
    auto range = format::ParseNumberRange(name);
    auto found = range ? by_range_.find(KeyOf(*range)) : by_range_.end();
    if (found == by_range_.end()) return;
    Other& other = found->second;
    other.itself |= range->first == range->last && number == range->first;
    // A task that is called so to the letter is rather meant than 02 by 2.
    bool exact = name == RangeText(*range);
    if (other.number > 0 && exact != other.exact) other.number = exact ? 0 : other.number;
    if (other.number > 0 && other.exact && !exact) return;
    take(other.number);
    if (other.number != number) return;
    other.name = name;
    other.exact = exact;
  }

  // The tasks by number that `wanted` means, with `tasks` in the job.
  Result<std::vector<NumberRange>> Resolve(const TasksOfJob& wanted, uint32_t job,
                                           uint32_t tasks) const;

 private:
  struct Other {
    uint32_t number = 0;  // of a task whose name reads as the range; 0: there is none
    std::string name;
    bool exact = false;   // to the letter
    bool itself = false;  // the task that the number means is called so
  };
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  static Key KeyOf(const NumberRange& range) { return {range.first, range.last, range.step}; }

  std::map<std::string, uint32_t, std::less<>> by_name_;
  std::map<Key, Other> by_range_;
};

Result<std::vector<NumberRange>> NamedTasks::Resolve(const TasksOfJob& wanted, uint32_t job,
                                                     uint32_t tasks) const {
  std::vector<NumberRange> ranges;
  for (const NumberRange& range : wanted.ranges) {
    const Other& other = by_range_.at(KeyOf(range));
    if (other.number == 0 || other.itself) {
      ranges.push_back(range);
      continue;
    }
    if (range.first > tasks) {  // a name, and nothing else
      ranges.push_back({other.number, other.number});
      continue;
    }
    const std::string text = RangeText(range);
    const bool one = range.first == range.last;
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("{0}.{1} has two readings: {2} by number, and task {3}, which is called {4}\n"
                    "write '{0}.#{1}' for {2} by number, or '{0}.name={4}' for task {3}",
                    job, text, one ? "task " + text : "tasks " + text, other.number,
                    EscapeForScreen(other.name)));
  }
  for (const std::string& name : wanted.names) {
    if (auto marked = format::ParseMarkedRange(name)) {
      ranges.push_back(*marked);
      continue;
    }
    uint32_t number = by_name_.at(name);
    if (number == 0) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("job {} has no task that is called {}", job, EscapeForScreen(name)),
                  Remedy(" (see: {})", Advice("job tasks", job)));
    }
    ranges.push_back({number, number});
  }
  return ranges;
}

// Beyond those called as others, a task that is wanted by its number may be called so.
Result<std::vector<TaskRange>> NamedTasks::TasksToAdd(TaskTexts& texts, uint32_t tasks) const {
  if (!texts.HasNames()) return {};
  if (!by_name_.empty()) return std::vector<TaskRange>{{0, tasks}};
  auto ranges = TRY(texts.CalledAsOthers());
  for (const auto& [first, last, step] : std::views::keys(by_range_)) {
    if (first == last && 0 < first && first <= tasks) ranges.push_back({first - 1, 1});
  }
  std::ranges::sort(ranges, {}, &TaskRange::first);
  return ranges;
}

// Reads the job's rows only where its tasks may have names that matter.
Result<std::vector<NumberRange>> RangesOf(const Source& source, uint32_t job,
                                          const TasksOfJob& wanted) {
  NamedTasks named(wanted);
  if (named.empty()) return named.Resolve(wanted, job, 0);
  auto history = TRY(source.Open(job));
  TaskTexts texts(source, *history);
  if (!texts.HasNames() && wanted.names.empty()) return wanted.ranges;
  auto replay = TRY(history->Replayed());
  const engine::JobState& job_state = replay->job();
  const uint32_t tasks = job_state.task_count();
  TaskIndex next = 0;
  for (TaskRange range : TRY(named.TasksToAdd(texts, tasks))) {
    const TaskIndex end = range.first + range.count;
    for (next = std::max(next, range.first); next < end; ++next) {
      named.Add(texts.Name(next), next + 1, job_state);
    }
  }
  return named.Resolve(wanted, job, tasks);
}

Status AddTasks(const Source& source, const TasksOfJob& tasks, const std::vector<uint32_t>& numbers,
                std::vector<PickedTasks>& picked) {
  auto job = TRY(tasks.job ? Result<uint32_t>(*tasks.job) : LastJob(source, numbers));
  if (!std::ranges::binary_search(numbers, job)) {
    return NoSuchJob(source, {job, job, 1}, numbers);
  }
  PickedTasks& entry = EntryOf(picked, job);
  entry.all = entry.all || tasks.all;
  auto named = TRY(RangesOf(source, job, tasks));
  entry.ranges.insert(entry.ranges.end(), named.begin(), named.end());
  return {};
}

}  // namespace

Result<store::NewestJobs> NewestJobs(const Source& source, size_t most) {
  auto newest = source.history->Newest("", most);
  if (newest && newest->of == 0) return NoJobs(source);
  return newest;
}

Result<std::vector<uint32_t>> AllJobs(const Source& source) {
  return TRY(NewestJobs(source, SIZE_MAX)).numbers;
}

Result<std::vector<uint32_t>> PickJobs(const Source& source, const JobSelector& named,
                                       bool hidden_too) {
  auto numbers = AllJobs(source);
  if (!numbers) return numbers;
  return PickAmong(source, named, *numbers, hidden_too);
}

Result<std::vector<PickedTasks>> PickTasks(const Source& source,
                                           const std::vector<wire::TaskPick>& named) {
  auto numbers = TRY(AllJobs(source));
  std::vector<PickedTasks> picked;
  static const std::vector<wire::TaskPick> kLast(1);
  for (const wire::TaskPick& pick : named.empty() ? kLast : named) {
    if (pick.tasks.empty() || !NamesNone(pick.jobs)) {
      auto jobs = TRY(PickAmong(source, pick.jobs, numbers, false));
      for (uint32_t job : jobs) EntryOf(picked, job).all = true;
    }
    for (const TasksOfJob& tasks : pick.tasks) {
      TRY(AddTasks(source, tasks, numbers, picked));
    }
  }
  return picked;
}

Status VisitTasks(store::JobJournal& history, const PickedTasks& picked, uint32_t states,
                  const std::function<bool(const store::TaskSummary&)>& visit) {
  if (picked.all) return history.Tasks({.states = states, .left_list = false}, visit);
  auto replay = TRY(history.Replayed());
  const uint32_t tasks = replay->job().task_count();
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
