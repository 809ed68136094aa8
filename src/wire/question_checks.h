// Requirements on a question beyond its types. A sender that keeps to the protocol meets them.
#pragma once

#include "base/result.h"
#include "wire/questions.h"

namespace spate::wire {

// kCorrupt, with the field.
Status CheckSound(const Question& question);

}  // namespace spate::wire
