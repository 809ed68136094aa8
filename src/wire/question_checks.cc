#include "wire/question_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/model/job.h"
#include "core/model/limits.h"
#include "wire/ask.h"
#include "wire/limits.h"

namespace spate::wire {
namespace {

Status Defect(std::string_view field, std::string_view what) {
  return Fail(ErrorKind::kCorrupt, fmt::format("{} {}", field, what));
}

Status CheckName(std::string_view field, const std::string& name) {
  if (name.size() > kWireLimits.name_bytes) return Defect(field, "is too long");
  bool prints = std::ranges::none_of(name, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return prints ? Status() : Defect(field, "has a control character");
}

Status CheckNames(std::string_view field, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    TRY(CheckName(field, name));
  }
  return {};
}

Status CheckRanges(std::string_view field, const std::vector<NumberRange>& ranges) {
  bool sound = std::ranges::all_of(ranges, &NumberRange::IsSound);
  return sound ? Status() : Defect(field, "runs backwards, or from 0");
}

Status Check(const TasksOfJob& tasks) {
  if (tasks.job && *tasks.job == 0) return Defect("tasks.job", "is 0");
  TRY(CheckNames("tasks.names", tasks.names));
  return CheckRanges("tasks.ranges", tasks.ranges);
}
// The hub itself knows no names.
Status CheckNumbered(const TasksOfJob& tasks) {
  if (!tasks.names.empty()) return Defect("tasks.names", "have not been looked up");
  return Check(tasks);
}

Status Check(const std::vector<TasksOfJob>& all) {
  for (const TasksOfJob& tasks : all) {
    TRY(Check(tasks));
  }
  return {};
}

Status CheckNumbered(const std::vector<TasksOfJob>& all) {
  for (const TasksOfJob& tasks : all) {
    TRY(CheckNumbered(tasks));
  }
  return {};
}

Status Check(const std::vector<TaskPick>& picks) {
  for (const TaskPick& pick : picks) {
    TRY(CheckRanges("tasks.jobs", pick.jobs.ranges));
    TRY(Check(pick.tasks));
  }
  return {};
}

// The values that are set; others have their defaults.
template <typename T>
T SetBy(const ChangeOf<T>& change) {
  T values;
  change.AssignTo(values);
  return values;
}

// The type's own checks.
template <typename T>
Status CheckValues(const T& values) {
  auto sound = values.CheckSound();
  return sound ? sound : Fail(ErrorKind::kCorrupt, std::move(sound.error().message));
}

Status Check(const Needs& needs) {
  TRY(CheckValues(needs));
  if (needs.memory > kWireLimits.size) return Defect("needs.memory", "is out of range");
  for (const NamedNeed& named : needs.named) {
    TRY(CheckName("needs.named", named.name));
  }
  TRY(CheckNames("needs.labels", needs.labels));
  TRY(CheckNames("needs.not_on", needs.not_on));
  return CheckName("needs.on_node", needs.on_node);
}

// A journal keeps these texts for as long as the pool exists.
struct CheckPoolTexts {
  Status status = {};
  void operator()(uint32_t, const std::string& text) {
    constexpr size_t kMost = 4096;
    if (text.size() > kMost) status = Defect("wish", "is too long");
    if (text.contains('\0')) status = Defect("wish", "has a zero byte");
  }
  void operator()(uint32_t number, const std::vector<std::string>& texts) {
    constexpr size_t kMost = 256;
    if (texts.size() > kMost) status = Defect("wish", "are too many");
    for (const std::string& text : texts) (*this)(number, text);
  }
  template <typename T>
  void operator()(uint32_t, const T&) {}
};

Status Check(const PoolChange& wish) {
  CheckPoolTexts texts;
  const PoolPolicy policy = SetBy(wish);
  VisitLeaves(policy, texts);
  TRY(texts.status);
  const NodeShape& shape = policy.shape;
  TRY(CheckNames("wish.labels", shape.labels));
  if (shape.memory > kWireLimits.size) return Defect("wish.memory", "is out of range");
  if (shape.named.size() > 64) return Defect("wish.named", "are too many");
  if (!Needs{.labels = shape.labels}.CheckSound()) {
    return Defect("wish.labels", "is not sorted, or has an empty one");
  }
  return Check(Needs{.named = shape.named});
}

Status Check(const UserRule& rule) {
  TRY(CheckValues(rule));
  return CheckName("group", rule.group);
}

// ---- One for each question that may be wrong ---------------------------------------------------

template <typename T>
Status Check(const T&) {
  return {};
}
Status Check(const ListNodes& asked) { return CheckNames("names", asked.names); }
Status Check(const ListUsers& asked) { return CheckName("user", asked.user); }
Status Check(const ExplainTasks& asked) { return CheckNumbered(asked.tasks); }
Status Check(const LookAtJobs& asked) { return CheckRanges("jobs.ranges", asked.jobs.ranges); }
Status Check(const LookAtWork& asked) { return CheckName("user", asked.user); }
Status Check(const ReadStderr& asked) { return CheckName("node", asked.node); }
Status Check(const AskNode& asked) {
  if (asked.body.size() > kAskBytes) return Defect("body", "is too long");
  return CheckName("node", asked.node);
}
Status Check(const LookAtRun& asked) {
  if (asked.wish.most > kLookPiece) return Defect("wish.most", "is out of range");
  return CheckNumbered(asked.task);
}
Status Check(const ReadRows& asked) {
  for (const RangesOfJob& tasks : asked.tasks) {
    bool sound = std::ranges::all_of(tasks.tasks, [](const TaskRange& range) {
      return uint64_t{range.first} + range.count <= kLimits.tasks_per_job;
    });
    if (!sound) return Defect("tasks", "are more than a job has");
  }
  return {};
}
Status Check(const ListJobs& asked) {
  return asked.jobs ? CheckRanges("jobs.ranges", asked.jobs->ranges) : Status();
}
Status Check(const DescribeJobs& asked) { return CheckRanges("jobs.ranges", asked.jobs.ranges); }
Status Check(const LookAtGraph& asked) { return CheckRanges("jobs.ranges", asked.jobs.ranges); }
Status Check(const FindTasks& asked) { return Check(asked.tasks); }
Status Check(const ListTasks& asked) { return Check(asked.tasks); }
Status Check(const DescribeTasks& asked) { return Check(asked.tasks); }
Status Check(const ReadOutput& asked) { return Check(asked.tasks); }
Status Check(const TailOutput& asked) { return CheckRanges("job.ranges", asked.job.ranges); }
Status Check(const SumUse& asked) {
  TRY(CheckName("user", asked.user));
  return asked.jobs ? CheckRanges("jobs.ranges", asked.jobs->ranges) : Status();
}
Status Check(const ComparePairs& asked) { return CheckRanges("jobs.ranges", asked.jobs.ranges); }
Status Check(const FindDependents& asked) {
  return asked.most > 1000 ? Defect("most", "is out of range") : Status();
}
Status Check(const ChangeNodes& asked) {
  if (asked.reason.size() > kWireLimits.name_bytes) return Defect("reason", "is too long");
  return CheckNames("names", asked.names);
}
Status Check(const AddAccess& asked) { return CheckName("user", asked.user); }
Status Check(const SetUser& asked) {
  if (asked.user.empty()) return Defect("user", "is missing");
  if (asked.user == "@") return Defect("group", "has no name");
  TRY(Check(SetBy(asked.change)));
  return CheckName("user", asked.user);
}
Status Check(const SetHub& asked) {
  const Duration half_life = asked.half_life.value_or(Duration());
  const bool sound =
      half_life.ns == 0 || (half_life >= kLeastHalfLife && half_life <= kWireLimits.longest);
  return sound ? Status() : Defect("half_life", "is out of range");
}
Status Check(const ChangeJobs& asked) {
  TRY(CheckValues(SetBy(asked.set)));
  return CheckRanges("jobs.ranges", asked.jobs.ranges);
}
Status Check(const Cancel& asked) {
  TRY(CheckNumbered(asked.tasks));
  return CheckRanges("jobs.ranges", asked.jobs.ranges);
}
Status Check(const Steer& asked) {
  if (asked.signal < 0 || asked.signal > 64) return Defect("signal", "is out of range");
  if (asked.pid < 0) return Defect("pid", "is out of range");
  TRY(CheckName("node", asked.node));
  TRY(CheckNumbered(asked.tasks));
  return CheckRanges("jobs.ranges", asked.jobs.ranges);
}
Status Check(const Forget& asked) { return CheckRanges("jobs.ranges", asked.jobs.ranges); }
Status Check(const Retry& asked) {
  if (asked.time_limit_percent > 1'000'000) return Defect("time_limit_percent", "is out of range");
  TRY(CheckNumbered(asked.tasks));
  return Check(SetBy(asked.needs));
}

Status Check(const LookAtPools& asked) { return CheckNames("names", asked.names); }
Status Check(const ReadPoolLog& asked) { return CheckName("name", asked.name); }
Status Check(const TryPool& asked) { return CheckName("name", asked.name); }
Status Check(const AddPool& asked) {
  TRY(CheckName("name", asked.name));
  TRY(CheckName("system", asked.system));
  constexpr size_t kMostVariables = 16;
  if (asked.variables.size() > kMostVariables) return Defect("variables", "are too many");
  for (const PoolVariable& each : asked.variables) {
    TRY(CheckName("variables", each.name));
    if (each.value.size() > kWireLimits.name_bytes) return Defect("variables", "have long values");
  }
  return Check(asked.wish);
}
Status Check(const ChangePools& asked) {
  TRY(CheckNames("names", asked.names));
  if (asked.reason.size() > kWireLimits.name_bytes) return Defect("reason", "is too long");
  return Check(asked.wish);
}

}  // namespace

Status CheckSound(const Question& question) {
  return std::visit([](const auto& asked) { return Check(asked); }, question);
}

}  // namespace spate::wire
