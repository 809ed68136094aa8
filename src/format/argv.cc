#include "format/argv.h"

#include <fmt/format.h>

#include "base/units.h"
#include "core/model/limits.h"

namespace spate::format {
namespace {

// Cost of argv in execve next to its bytes: a NUL and a pointer for each word.
constexpr size_t kWordCost = 1 + sizeof(char*);

}  // namespace

Status CheckArgv(const std::vector<std::string>& argv) {
  size_t total = 0;
  for (const std::string& word : argv) {
    total += word.size() + kWordCost;
    if (word.size() > kLimits.shell_text_bytes) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("an argument of the command is {} bytes long, but the system accepts "
                              "at most {}; pass it in a file",
                              FormatCount(word.size()), FormatCount(kLimits.shell_text_bytes)));
    }
  }
  if (total > kLimits.argv_bytes) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("the command has {} arguments of {} bytes in total, but Spate accepts at most "
                    "{}; pass fewer values at once (-n), or pass them in a file",
                    FormatCount(argv.size()), FormatCount(total), FormatCount(kLimits.argv_bytes)));
  }
  return {};
}

}  // namespace spate::format
