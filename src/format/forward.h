// What a task forwards, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::format {

// What a task writes to the descriptor in the variable `from`, or what is in the file `from`, is
// appended to the file `to`.
struct Forward {
  std::string from;
  std::string to;
  friend bool operator==(const Forward&, const Forward&) = default;
};

// kInvalid: no shell can use a variable of this name.
Status CheckVariable(std::string_view name);
// "VAR=FILE" and "SRC=DEST", at the first '='. kInvalid: a part is missing, or VAR is no variable.
Result<Forward> ParsePipeForward(std::string_view text);
Result<Forward> ParseFileForward(std::string_view text);

}  // namespace spate::format
