// Answers of a journal to questions (wire/questions.h), of a hub or of runs on this machine.
//
// Thread: one at a time. Nothing is written; other processes may write meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "history/source.h"
#include "wire/question_row.h"

namespace spate::history {

// Takes one answer; an error ends the rest.
using Give = std::function<Status(std::string_view bytes)>;

// The row of a question that a journal answers; nullptr: none does.
const wire::QuestionRow* FindRow(uint32_t number);

// kInvalid: it is no question for a journal.
Status Answer(const Source& source, const wire::Question& question, const Give& give);

}  // namespace spate::history
