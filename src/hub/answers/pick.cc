#include "hub/answers/pick.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "core/model/ranges.h"

namespace spate::hub {
namespace {

// Limit of one change: each ended job is read from the journal, while all others wait.
constexpr size_t kMostJobs = 10'000;
// Each of one job that has ended is read by itself.
constexpr size_t kMostRanges = 3'000;
constexpr size_t kFew = 8;
// Among so many those chosen with a step may be.
constexpr size_t kMostListed = 200'000;

std::string TextOf(const NumberRange& range) {
  if (range.first == range.last) return fmt::format("{}", range.first);
  std::string step = range.step == 1 ? "" : fmt::format(":{}", range.step);
  return fmt::format("{}-{}{}", range.first, range.last, step);
}

Status CheckSteps(const std::vector<NumberRange>& ranges) {
  // Those with steps cannot be put together as others are.
  auto stepped = std::ranges::count_if(ranges, [](const auto& range) { return range.step > 1; });
  if (static_cast<size_t>(stepped) <= kMostStepped) return {};
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("these are more than {} ranges with steps; name fewer at once", kMostStepped));
}

Status CheckJobs(const std::vector<NumberRange>& ranges) {
  if (ranges.size() <= kMostRanges) return CheckSteps(ranges);
  return Fail(ErrorKind::kInvalid,
              fmt::format("these are more than {} ranges of jobs; name fewer at once, or all",
                          FormatCount(kMostRanges)));
}

Error TooMany() {
  return {ErrorKind::kInvalid,
          fmt::format("these are more than {} jobs; name fewer at once, or all",
                      FormatCount(kMostJobs))};
}

// Jobs in ranges of numbers. Each range is looked up by itself, but for those with steps: the jobs
// among which they choose are listed once, however many they are.
class JobRanges {
 public:
  JobRanges(const KnownJobs& jobs, const std::vector<NumberRange>& named)
      : jobs_(jobs), named_(named) {}
  // Ascending.
  Result<std::vector<JobId>> Pick();

 private:
  Status CheckEach();
  Status List(const std::vector<NumberRange>& ranges);
  bool HasAny(const NumberRange& range) const;
  Status Add(const NumberRange& range);

  const KnownJobs& jobs_;
  const std::vector<NumberRange>& named_;
  std::vector<JobId> listed_;  // ascending; for ranges with steps
  std::vector<JobId> picked_;
};

Status JobRanges::List(const std::vector<NumberRange>& ranges) {
  uint32_t first = UINT32_MAX, last = 0;
  for (const NumberRange& range : ranges) {
    if (range.step == 1) continue;
    first = std::min(first, range.first);
    last = std::max(last, range.last);
  }
  if (first > last) return {};
  listed_ = jobs_.Between(JobId(first), JobId(last), kMostListed);
  return listed_.size() < kMostListed ? Status() : std::unexpected(TooMany());
}

bool JobRanges::HasAny(const NumberRange& range) const {
  if (range.first == range.last) return jobs_.Find(JobId(range.first)) != nullptr;
  if (range.step == 1) return !jobs_.Between(JobId(range.first), JobId(range.last), 1).empty();
  return std::ranges::any_of(listed_, [&](JobId job) { return range.Contains(job.value); });
}

// A number that was typed and is not there is an error; a range need only touch one.
Status JobRanges::CheckEach() {
  for (const NumberRange& range : named_) {
    if (HasAny(range)) continue;
    return Fail(ErrorKind::kNotFound, fmt::format("no job {} on this hub", TextOf(range)),
                SeeAlso("job list"));
  }
  return {};
}

Status JobRanges::Add(const NumberRange& range) {
  if (range.step > 1) {
    std::ranges::copy_if(listed_, std::back_inserter(picked_),
                         [&](JobId job) { return range.Contains(job.value); });
  } else {
    auto between = jobs_.Between(JobId(range.first), JobId(range.last), kMostJobs + 1);
    picked_.insert(picked_.end(), between.begin(), between.end());
    // They are read at once, for all that looks at them in this turn.
    if (between.size() > kFew) jobs_.Prepare(between.front(), between.back(), between.size());
  }
  return picked_.size() <= kMostJobs ? Status() : std::unexpected(TooMany());
}

Result<std::vector<JobId>> JobRanges::Pick() {
  TRY(List(named_));
  TRY(CheckEach());
  for (const NumberRange& range : Merged(named_)) {
    TRY(Add(range));
  }
  std::ranges::sort(picked_);
  return std::move(picked_);
}

Error NoJobYet() { return {ErrorKind::kNotFound, "you have no job on this hub yet"}; }

// Visits those of a job's `total` tasks that are named, each once; gaps cost a bit.
void VisitNamed(const std::vector<TasksOfJob>& parts, uint32_t total,
                const std::function<void(TaskIndex)>& visit) {
  std::vector<NumberRange> ranges;
  for (const TasksOfJob& part : parts) {
    ranges.insert(ranges.end(), part.ranges.begin(), part.ranges.end());
    if (part.all && total > 0) ranges.push_back({1, total, 1});
  }
  std::erase_if(ranges, [&](const NumberRange& range) { return range.first > total; });
  if (ranges.empty()) return;
  uint32_t least = total, most = 1;
  for (NumberRange& range : ranges) {
    range.last = std::min(range.last, total);
    least = std::min(least, range.first);
    most = std::max(most, range.last);
  }
  std::vector<bool> named(most - least + 1);
  for (const NumberRange& range : Merged(std::move(ranges))) {
    for (uint64_t number = range.first; number <= range.last; number += range.step) {
      named[number - least] = true;
    }
  }
  for (uint32_t i = 0; i < named.size(); ++i) {
    if (named[i]) visit(least - 1 + i);
  }
}

}  // namespace

Result<std::vector<JobId>> NamedJobs(Jobs& jobs, const Caller& caller, const JobSelector& named) {
  TRY(CheckJobs(named.ranges));
  std::vector<JobId> picked;
  const KnownJobs& known = jobs.known();
  auto in_ranges = TRY(JobRanges(known, named.ranges).Pick());
  picked = std::move(in_ranges);
  if (named.last) {
    auto newest = known.NewestOf(caller.user);
    if (!newest) return std::unexpected(NoJobYet());
    picked.push_back(*newest);
  }
  if (named.all) {
    auto unfinished = known.UnfinishedOf(caller.user, caller.is_admin);
    picked.insert(picked.end(), unfinished.begin(), unfinished.end());
  }
  return picked;
}

Result<std::vector<JobId>> PickJobs(Jobs& jobs, const Caller& caller, const JobSelector& named,
                                    bool damaged_too) {
  auto found = NamedJobs(jobs, caller, named);
  if (!found) return found;
  std::vector<JobId> picked = std::move(*found);
  for (JobId job : picked) {
    TRY(damaged_too ? jobs.CheckRight(caller, job) : jobs.CheckUsable(caller, job));
  }
  std::ranges::sort(picked);
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

Result<JobId> PickJob(Jobs& jobs, const Caller& caller, const TasksOfJob& tasks) {
  TRY(CheckSteps(tasks.ranges));
  std::optional<JobId> job;
  if (tasks.job) job = JobId(*tasks.job);
  if (!job) job = jobs.known().NewestOf(caller.user);
  if (!job) return std::unexpected(NoJobYet());
  TRY(jobs.CheckUsable(caller, *job));
  return *job;
}

Chosen Choose(const Jobs& jobs, JobId job, const std::vector<TasksOfJob>& parts,
              std::initializer_list<TaskState> states) {
  const engine::Engine& engine = jobs.engine();
  auto counts = engine.Counts(job);
  Chosen chosen;
  VisitNamed(parts, counts ? counts->total : 0, [&](TaskIndex index) {
    if (std::find(states.begin(), states.end(), engine.StateOf(job, index)) == states.end()) return;
    AppendIndex(chosen.tasks, index);
    ++chosen.count;
  });
  return chosen;
}

wire::JobsChanged ChangeEach(Jobs& jobs, const std::vector<JobId>& picked,
                             const std::function<void(JobId)>& change) {
  wire::JobsChanged done;
  for (JobId job : picked) {
    if (jobs.known().Find(job)->finished) {
      done.ended.push_back(job);
    } else {
      change(job);
      done.changed.push_back(job);
    }
  }
  return done;
}

Status CheckIsOwner(const Jobs& jobs, const Caller& caller, JobId job, std::string_view what) {
  const std::string& owner = jobs.known().Find(job)->user;
  if (caller.user == owner) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("job {} is user {}'s; nobody else may {}, not even an administrator",
                          job.value, EscapeForScreen(owner), what));
}

Error UnknownNode(const std::string& name) {
  return {ErrorKind::kNotFound, fmt::format("the hub knows no node '{}'", EscapeForScreen(name)),
          SeeAlso("node list")};
}

}  // namespace spate::hub
