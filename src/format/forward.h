// The forwards of a task, as people write them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::format {

// Bytes that a task writes to the descriptor in the variable `from`, or the contents of the file
// `from`, are appended to the file `to`.
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
