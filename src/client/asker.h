// Asker: whoever answers questions about jobs, nodes and users (wire/questions.h): a hub, by
// HubCall.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "wire/field_bytes.h"
#include "wire/question.h"

namespace spate::client {

// Elements of an answer, which is the hub's own: each of all its jobs may be one.
inline constexpr uint32_t kMostAnswered = 20'000'000;

class Asker {
 public:
  virtual ~Asker() = default;
  using AcceptAnswer = std::function<Status(std::string_view bytes)>;
  // `take` has each answer, until it fails. A refusal is an error of the kind that the hub gave.
  virtual Status Query(wire::Question question, const AcceptAnswer& take) = 0;
};

// Calls `take` with each answer; where it returns a Status, an error ends it.
template <typename Q, typename Take>
Status Query(Asker& asker, Q question, Take take) {
  return asker.Query(std::move(question), [&](std::string_view bytes) -> Status {
    auto answer =
        TRY(wire::FromBytes<typename Q::Answer>("the hub's answer", bytes, kMostAnswered));
    if constexpr (std::is_same_v<decltype(take(std::move(answer))), Status>) {
      return take(std::move(answer));
    } else {
      take(std::move(answer));
      return {};
    }
  });
}

// The only answer.
template <typename Q>
Result<typename Q::Answer> QueryOne(Asker& asker, Q question) {
  typename Q::Answer newest;
  TRY(Query(asker, std::move(question),
            [&](typename Q::Answer answer) { newest = std::move(answer); }));
  return newest;
}

// The answer of a node itself (node/questions.h), through its hub.
template <typename Q>
Result<typename Q::Answer> QueryNode(Asker& hub, std::string node, const Q& question) {
  typename Q::Answer answer;
  wire::AskNode ask{std::move(node), Q::kNumber, wire::BytesOf(question)};
  TRY(hub.Query(std::move(ask), [&](std::string_view bytes) -> Status {
    answer = TRY(wire::FromBytes<typename Q::Answer>("the node's answer", bytes));
    return {};
  }));
  return answer;
}

// Asks on until there is nothing left; `take` has each answer, in which a job may come again with
// further tasks.
template <typename Take>
Status QueryWork(Asker& asker, wire::LookAtWork question, Take take) {
  do {
    JobId job;
    TaskIndex task = 0;
    TRY(Query(asker, question, [&](JobWork work) {
      job = work.next_job;
      task = work.next_task;
      take(std::move(work));
    }));
    question.from_job = job;
    question.from_task = task;
  } while (question.from_job != JobId());
  return {};
}

}  // namespace spate::client
