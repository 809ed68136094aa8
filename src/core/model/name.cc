#include "core/model/name.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate {

Result<std::string> ReadName(std::string_view text, std::string_view what, std::string_view also) {
  constexpr size_t kMost = 255;
  constexpr std::string_view kFirst =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const std::string all = fmt::format("{}._-{}", kFirst, also);
  if (!text.empty() && text.size() <= kMost && kFirst.contains(text.front()) &&
      text.find_first_not_of(all) == std::string_view::npos) {
    return std::string(text);
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a valid {}; write a letter or digit, then letters, digits "
                          "or any of ._-{} (at most {})",
                          EscapeForScreen(text), what, also, kMost));
}

Status CheckPoolName(std::string_view name) {
  bool fits = ReadName(name, "") && name.front() > '9' && !name.contains('.');
  if (fits && name.size() <= kPoolNameBytes) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a valid name for a pool; write up to {} letters, digits, - "
                          "and _, beginning with a letter",
                          EscapeForScreen(name), kPoolNameBytes));
}

}  // namespace spate
