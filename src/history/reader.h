// Answers of a journal to questions (wire/questions.h), of a hub or of runs on this machine.
//
// Thread: one at a time. Nothing is written; other processes may write meanwhile.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "history/source.h"
#include "wire/field_bytes.h"
#include "wire/questions.h"

namespace spate::history {

// Takes one answer; an error ends the rest.
using Give = std::function<Status(std::string_view bytes)>;

// kInvalid: it is no question for a journal.
Status Answer(const Source& source, const wire::Question& question, const Give& give);

}  // namespace spate::history
