// The options of `spate job retry` that change what tasks ask for.
#pragma once

#include "base/result.h"
#include "cli/options/words.h"
#include "core/model/needs.h"

namespace spate::cli {

Result<NeedsChange> MakeNeedsChange(const Words& words);

}  // namespace spate::cli
