// The job that a record belongs to.
#pragma once

#include <variant>

#include "base/ids.h"
#include "core/engine/record.h"

namespace spate::store {

// JobId(): it belongs to no job, as what is known of nodes and users.
inline JobId JobOf(const engine::Record& record) {
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

// True if tasks of the record's job may have yet to end after it, though they all had.
inline bool Reopens(const engine::Record& record) {
  return std::holds_alternative<engine::TasksReopened>(record) ||
         std::holds_alternative<engine::JobGrown>(record);
}

}  // namespace spate::store
