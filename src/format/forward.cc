#include "format/forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace spate::format {
namespace {

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Result<Forward> Split(std::string_view text, std::string_view form) {
  size_t equals = text.find('=');
  bool whole = equals != std::string_view::npos && equals > 0 && equals + 1 < text.size();
  if (!whole) {
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not {}", EscapeForScreen(text), form));
  }
  return Forward{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace

Status CheckVariable(std::string_view name) {
  bool digit = !name.empty() && name.front() >= '0' && name.front() <= '9';
  if (!name.empty() && !digit && std::ranges::all_of(name, IsWordByte)) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not the name of a variable; use letters, digits and _",
                          EscapeForScreen(name)));
}

Result<Forward> ParsePipeForward(std::string_view text) {
  auto forward = Split(text, "VAR=FILE, as in DATA=all.csv");
  if (!forward) return forward;
  TRY(CheckVariable(forward->from));
  return forward;
}

Result<Forward> ParseFileForward(std::string_view text) {
  return Split(text, "SRC=DEST, as in part.csv=all.csv");
}

}  // namespace spate::format
