// What a question must hold beside its types: a sender that keeps to the protocol sends nothing
// else.
#pragma once

#include "base/result.h"
#include "wire/questions.h"

namespace spate::wire {

// kCorrupt, with the field.
Status CheckSound(const Question& question);

}  // namespace spate::wire
