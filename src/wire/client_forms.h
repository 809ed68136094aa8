// Forms (message_forms.h) of the messages of clients.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/client_messages.h"
#include "wire/message_forms.h"

namespace spate::wire {

template <>
struct FormOf<Submit> {
  using Type = Submit;
  static Submit ToForm(const Submit& message);
  static Submit FromForm(MessageCheck& in, Submit&& from);
};

struct SubmitEndForm {
  struct Run {
    uint32_t count = 0;
    uint32_t request = 0;
    SPATE_FIELDS(1, Must(count), 2, request);
  };
  uint32_t count = 0;
  std::vector<TaskClass> requests;
  std::vector<Run> runs;  // in the order of the tasks
  std::vector<TaskIndex> order;
  uint32_t known_tasks = 0;
  SPATE_MESSAGE(1, Bound(count, .most = kLimits.tasks_per_job),
                2, Bound(requests, .count = kLimits.requests, .of = "kinds"), 3, Packed(runs),
                4, order, 5, Bound(known_tasks, .most = kLimits.tasks_per_job));
};
template <>
struct FormOf<SubmitEnd> {
  using Type = SubmitEndForm;
  static SubmitEndForm ToForm(const SubmitEnd& message);
  static SubmitEnd FromForm(MessageCheck& in, SubmitEndForm&& from);
};

struct QueryForm {
  uint32_t question = 0;  // kNumber of its type
  std::string body;       // its fields
  SPATE_MESSAGE(1, question, 2, body);
};
template <>
struct FormOf<Query> {
  using Type = QueryForm;
  static QueryForm ToForm(const Query& message);
  static Query FromForm(MessageCheck& in, QueryForm&& from);
};

struct EndsReadForm {
  std::optional<EndsForm> ends;
  std::vector<Verdict> verdict;  // one for each end
  uint64_t position = 0;
  bool finished = false;
  SPATE_MESSAGE(1, ends, 2, verdict, 3, position, 4, finished);
};
template <>
struct FormOf<EndsRead> {
  using Type = EndsReadForm;
  static EndsReadForm ToForm(const EndsRead& message);
  static EndsRead FromForm(MessageCheck& in, EndsReadForm&& from);
};

}  // namespace spate::wire
