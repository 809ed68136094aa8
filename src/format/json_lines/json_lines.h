// JSON Lines as values with named columns (docs/formats/json-lines.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::format {

struct JsonLines {
  std::vector<std::string> names;  // the keys of the first line, in its order
  std::vector<std::string> rows;   // of each line the values of these, joined by '\0'
};

// One object a line; blank lines are skipped. Errors name the line; the caller adds the file.
Result<JsonLines> ParseJsonLines(std::string_view text);

}  // namespace spate::format
