// The table of questions, of their rows (wire/question_row.h).
#pragma once

#include <string>

#include "base/time.h"
#include "wire/question_row.h"
#include "wire/questions.h"

namespace spate::hub {

using wire::AnswerSizes;
using wire::LoopCost;

// The loop's time for this question at worst, in a hub of this size (without `named`).
Duration WorstCost(const wire::Question& question, AnswerSizes hub);

// The table for people, by number: LineOf each question.
std::string QuestionTable();

}  // namespace spate::hub
