// Questions that a hub answers from memory. A file questions/SOME_NAME.cc defines `extern const
// HubQuestion kSomeName` for wire::SomeName: who may ask it, what it costs and tells, and its
// answer; the build makes the list of them (CMakeLists.txt). Those of the journal:
// history/reader.h.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "hub/answers/answers.h"
#include "wire/question_row.h"

namespace spate::hub {

using wire::kNamed;
using wire::kNamedRuns;
using wire::kOneJob;
using enum wire::WhoMay;

// An error is the answer; without one the answer has been given, or comes. Neither the client nor
// the hub outlive some answers.
template <typename Q>
using AnswerTo = Status (*)(const AnswerParts& hub, Asking& asking, const Q& asked);

struct HubQuestion {
  wire::QuestionRow row;
  AnswerTo<wire::Question> answer = nullptr;
};

// `row` has who may ask, what it costs, and what it tells.
template <wire::IsQuestion Q, AnswerTo<Q> kAnswer, wire::CheckOf<Q> kCheck = wire::NoCheck<Q>>
consteval HubQuestion QuestionOf(wire::QuestionRow row) {
  return {wire::RowOf<Q, kCheck>(row),
          [](const AnswerParts& hub, Asking& asking, const wire::Question& question) -> Status {
            return kAnswer(hub, asking, TRY(question.Read<Q>()));
          }};
}

std::span<const HubQuestion* const> HubQuestions();
// nullptr: no hub answers it from memory.
const HubQuestion* FindQuestion(uint32_t number);

}  // namespace spate::hub
