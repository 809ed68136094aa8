#include "sim/check.h"

#include <fmt/format.h>

#include <functional>

namespace spate::sim {

std::string NameOf(const AttemptRef& ref) {
  return fmt::format("{}.{}#{}", ref.job.value, ref.index + 1, ref.attempt.value);
}

namespace {

struct QuestionName {
  std::string text;

  void operator()(const wire::ChangeJobs& q) {
    constexpr const char* kChanges[] = {"hold", "release", "close", "set"};
    text = kChanges[static_cast<size_t>(q.change)];
    Add(q.jobs);
  }
  void operator()(const wire::Cancel& q) {
    text = "cancel";
    Add(q.jobs);
    for (const TasksOfJob& tasks : q.tasks) Add(tasks);
  }
  void operator()(const wire::Forget& q) {
    text = q.dry_run ? "would forget" : "forget";
    Add(q.jobs);
  }
  void operator()(const wire::Retry& q) {
    text = q.dry_run ? "would retry" : "retry";
    Add(q.tasks);
  }
  void operator()(const wire::Steer& q) {
    constexpr const char* kWhat[] = {"stop", "cont", "kill", "signal"};
    text = kWhat[static_cast<size_t>(q.what)];
    Add(q.jobs);
    for (const TasksOfJob& tasks : q.tasks) Add(tasks);
  }
  void operator()(const wire::Withdraw& q) { text = fmt::format("withdraw {}", q.job.value); }
  void operator()(const wire::TrustNodes& q) { text = fmt::format("trust {}", q.job.value); }
  void operator()(const wire::SetUser& q) {
    text = "set user " + q.user;
    const UserRule& rule = q.change.values;
    if (q.change.Sets(rule.weight)) text += fmt::format(" weight={}", rule.weight);
    if (q.change.Sets(rule.max_running)) text += fmt::format(" running={}", rule.max_running);
    if (q.change.Sets(rule.max_queued)) text += fmt::format(" queued={}", rule.max_queued);
  }
  void operator()(const wire::ChangeNodes& q) {
    constexpr const char* kChanges[] = {"drain", "resume", "remove", "turn away"};
    text = kChanges[static_cast<size_t>(q.change)];
    for (const std::string& name : q.names) text += " " + name;
    if (q.all) text += " all nodes";
  }

 private:
  void Add(const NumberRange& range) {
    text += range.first == range.last ? fmt::format(" {}", range.first)
                                      : fmt::format(" {}-{}", range.first, range.last);
  }
  void Add(const JobSelector& jobs) {
    for (const NumberRange& range : jobs.ranges) Add(range);
  }
  void Add(const TasksOfJob& tasks) {
    text += fmt::format(" tasks of {}:{}", tasks.job.value_or(0), tasks.all ? " all" : "");
    for (const NumberRange& range : tasks.ranges) Add(range);
  }
};

}  // namespace

std::string NameOf(const wire::Question& question) {
  QuestionName name{fmt::format("question {}", question.number())};
  question.Visit<wire::ChangeJobs, wire::Cancel, wire::Forget, wire::Retry, wire::Steer,
                 wire::Withdraw, wire::TrustNodes, wire::SetUser, wire::ChangeNodes>(
      std::ref(name));
  return std::move(name.text);
}

bool Same(const TaskOutput* a, const TaskOutput* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->out.bytes == b->out.bytes && a->err.bytes == b->err.bytes;
}

Judge::Judge(const Workload& workload, Duration slack, const Options* hub)
    : workload_(workload), slack_(slack), hub_(hub) {
  for (auto make : {MakeAttemptsCheck, MakeDurableCheck, MakeEndsCheck, MakeCompleteCheck,
                    MakeResourcesCheck, MakeReplayCheck, MakeRepeatsCheck, MakeOutputCheck,
                    MakeLimitsCheck, MakeGraphCheck, MakeGangsCheck, MakeJournalCheck}) {
    checkers_.push_back(make());
  }
  if (hub == nullptr) return;
  for (auto make : {MakeLossesCheck,   MakeSilentCheck, MakeStraysCheck,    MakeAcksCheck,
                    MakeAnswersCheck,  MakeOrderCheck,  MakeBoundsCheck,    MakeFairCheck,
                    MakeBlameCheck,    MakePoolsCheck,  MakeDeadlinesCheck, MakeReservationsCheck,
                    MakeStarvingCheck, MakeDemandCheck, MakePassedCheck,    MakeLivesCheck,
                    MakeGrowthCheck,   MakeClockCheck,  MakeDisplaysCheck,  MakeRunningCheck,
                    MakeFrozenCheck}) {
    checkers_.push_back(make());
  }
}

void Judge::Observe(Instant now, const Fact& fact) {
  if (const auto* committed = std::get_if<Committed>(&fact)) {
    if (!book_.Enter(*committed->record)) {
      findings_.Add("book", "a record contradicts those before it");
    }
  }
  Scene scene{now, book_, workload_, hub_, slack_};
  for (auto& checker : checkers_) checker->Observe(scene, fact, findings_);
}

}  // namespace spate::sim
