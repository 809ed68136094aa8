// The job that a record belongs to, and its place there: by the fields and marks of its type.
#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "core/engine/record.h"

namespace spate::engine {

// JobId(): it belongs to no job, as what is known of nodes and users.
inline JobId JobOf(const Record& record) {
  return std::visit(
      [](const auto& r) {
        if constexpr (requires { r.job; }) {
          return JobId(r.job);
        } else if constexpr (requires { r.end.ref.job; }) {
          return r.end.ref.job;
        } else {
          return JobId();
        }
      },
      record);
}

inline JobStep StepOf(const Record& record) {
  return std::visit(
      []<typename R>(const R&) {
        if constexpr (requires { R::kStep; }) return R::kStep;
        return JobStep::kOther;
      },
      record);
}

// Tasks that its job has from it on, and had not before.
inline uint32_t AddedTasks(const Record& record) {
  return std::visit(
      [](const auto& r) -> uint32_t {
        if constexpr (requires { r.plan; }) return r.plan.task_count;
        if constexpr (requires { r.new_requests, r.count; }) return r.count;
        return 0;
      },
      record);
}

// True if records of its kind before it need not be kept.
inline bool ReplacesEarlier(const Record& record) {
  return std::visit([]<typename R>(const R&) { return requires { R::kReplacesEarlier; }; }, record);
}

}  // namespace spate::engine
