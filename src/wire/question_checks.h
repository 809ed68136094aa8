// Requirements on a question beyond its types. A sender that keeps to the protocol meets them. All
// errors are kCorrupt, with the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/question.h"

namespace spate::wire {

Status Defect(std::string_view field, std::string_view what);
// Short, and without control characters.
Status CheckName(std::string_view field, const std::string& name);
Status CheckNames(std::string_view field, const std::vector<std::string>& names);
Status CheckRanges(std::string_view field, const std::vector<NumberRange>& ranges);
// The hub itself knows no names of tasks.
Status CheckTasks(const TasksOfJob& tasks, bool has_names);
Status CheckNeeds(const Needs& needs);
Status CheckWish(const PoolChange& wish);

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

namespace internal {

// Fields that name the same in all questions.
struct FieldChecks {
  bool has_names = false;  // of tasks
  Status status = {};

  template <typename T>
  void operator()(uint32_t, std::string_view field, const T& value, const Bounds& = {}) {
    if (status) status = Check(field, value);
  }

 private:
  template <typename T>
  static Status Check(std::string_view, const T&) {
    return {};
  }
  static Status Check(std::string_view field, const std::string& text) {
    const bool names = field == "user" || field == "name" || field == "node" || field == "system";
    return names ? CheckName(field, text) : Status();
  }
  static Status Check(std::string_view field, const std::vector<std::string>& texts) {
    return field == "names" ? CheckNames(field, texts) : Status();
  }
  static Status Check(std::string_view field, const JobSelector& jobs) {
    return CheckRanges(std::string(field) + ".ranges", jobs.ranges);
  }
  static Status Check(std::string_view field, const std::optional<JobSelector>& jobs) {
    return jobs ? Check(field, *jobs) : Status();
  }
  Status Check(std::string_view, const TasksOfJob& tasks) const {
    return CheckTasks(tasks, has_names);
  }
  Status Check(std::string_view, const TaskPick& pick) const {
    TRY(CheckRanges("tasks.jobs", pick.jobs.ranges));
    return Check("tasks", pick.tasks);
  }
  template <typename T>
    requires std::is_same_v<T, TasksOfJob> || std::is_same_v<T, TaskPick>
  Status Check(std::string_view field, const std::vector<T>& all) const {
    for (const T& each : all) TRY(Check(field, each));
    return {};
  }
};

}  // namespace internal

// Names of users, nodes, pools, jobs and tasks.
template <IsQuestion Q>
Status CheckFields(const Q& asked) {
  internal::FieldChecks checks{IsOfJournal(Q::kNumber)};
  Q::Fields(asked, checks);
  return checks.status;
}

// All checks of a question about pools' wishes, for whoever sends it.
template <IsQuestion Q>
Status CheckBeforeSending(const Q& asked) {
  TRY(CheckFields(asked));
  return CheckWish(asked.wish);
}

}  // namespace spate::wire
