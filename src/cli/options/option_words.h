// Options that are not typed: those of $SPATE_OPTIONS and of profiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::cli {

// Words as a shell would split them: blanks and newlines between, quotes and backslashes; # at the
// start of a word begins a comment. Nothing is expanded. Errors: a quote that is not closed.
Result<std::vector<std::string>> SplitOptionWords(std::string_view text);

}  // namespace spate::cli
