// Refuses placeholders that are mistyped, as far as the names of values are known.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "core/model/job.h"
#include "format/list_line.h"

namespace spate::cli {

// `settings` as a list's loader has filled them in. Errors (kInvalid) name the option, the
// placeholder, and the name that was meant. With --literal-braces there are none.
Status CheckPlaceholders(const RunOptions& options, const JobSettings& settings);

// Why a line of a list is refused, with a clause that is mistyped; empty: it is not.
std::string WhyMistypedIn(const format::ListLine& line, bool literal_braces);

}  // namespace spate::cli
