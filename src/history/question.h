// Questions that a journal answers. A file questions/SOME_NAME.cc defines `extern const
// JournalQuestion kSomeName` for wire::SomeName: who may ask it, what it tells, and its answer; the
// build makes the list of them (CMakeLists.txt).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "history/reader.h"
#include "history/source.h"
#include "wire/field_bytes.h"
#include "wire/question_row.h"

namespace spate::history {

using enum wire::WhoMay;

// One question on its way to its answers.
struct Asking {
  const Source& source;
  const Give& give;
  template <typename T>
  Status SendAnswer(const T& answer) const {
    return give(wire::BytesOf(answer));
  }
};

template <typename Q>
using AnswerTo = Status (*)(const Asking& call, const Q& asked);

struct JournalQuestion {
  wire::QuestionRow row;
  AnswerTo<wire::Question> answer = nullptr;
};

// `row` has who may ask, and what it tells.
template <wire::IsQuestion Q, AnswerTo<Q> kAnswer, wire::CheckOf<Q> kCheck = wire::NoCheck<Q>>
consteval JournalQuestion QuestionOf(wire::QuestionRow row) {
  return {wire::RowOf<Q, kCheck>(row),
          [](const Asking& call, const wire::Question& question) -> Status {
            return kAnswer(call, TRY(question.Read<Q>()));
          }};
}

std::span<const JournalQuestion* const> JournalQuestions();
// nullptr: it is no question for a journal.
const JournalQuestion* FindQuestion(uint32_t number);

// kInvalid, of a question that runs have no answer to.
Status NeedHub(const Source& source);

}  // namespace spate::history
