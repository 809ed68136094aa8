// --csv: the lines of a file of values, as RFC 4180 has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::format {

// The records of `text`, the columns of each joined by '\0'. A column in double quotes may hold the
// separator, newlines and "" for one quote. Lines end in LF or CR LF; a byte order mark is skipped.
// Errors name the line: a NUL byte, a quote that is not closed, bytes behind a closing quote.
Result<std::vector<std::string>> ParseCsv(std::string_view text, char separator);

}  // namespace spate::format
