// A visit: a command that the owner of a running task runs inside it (`spate exec`).
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "core/model/fields.h"
#include "core/model/limits.h"
#include "core/model/selection.h"

namespace spate {

inline constexpr size_t kVisitSecret = 64;  // hexadecimal digits

// Asks a hub where a task is entered. Only the task's owner may: not even administrators.
struct EnterTask {
  static constexpr uint32_t kNumber = 90;
  TasksOfJob task;    // one
  uint32_t rank = 0;  // of a gang
  SPATE_FIELDS(1, task, 2, rank);
  friend bool operator==(const EnterTask&, const EnterTask&) = default;

  struct Answer {
    JobId job;
    uint32_t task = 0;   // from 1
    std::string node;    // where it runs
    std::string secret;  // kVisitSecret digits, good for one visit that begins soon
    std::string at;      // addresses of the node's port, joined by commas; empty: this machine
    SPATE_FIELDS(1, job, 2, task, 3, node, 4, secret, 5, at);
    friend bool operator==(const Answer&, const Answer&) = default;
  };
};

// Asks the attempt's shepherd to await the visitor who knows the secret. The answer is empty.
struct OpenVisit {
  static constexpr uint32_t kNumber = 91;
  std::string secret;  // as above
  std::string node;    // the node's name, which visitor and server agree on
  SPATE_FIELDS(1, Bound(secret, .most = kVisitSecret), 2, Bound(node, .most = kLimits.name_bytes));
  friend bool operator==(const OpenVisit&, const OpenVisit&) = default;
};

// How a shepherd starts the server of a visit: this program, with this argument, in the task's
// environment and folder. The pipe kVisitOrder is its order, one line (OrderOf), and the end of
// that pipe the end of the task.
inline constexpr const char* kVisitArgument = "__visit";
inline constexpr int kVisitOrder = 3;
inline std::string OrderOf(const OpenVisit& visit) {
  return visit.secret + ' ' + visit.node + '\n';
}

}  // namespace spate
