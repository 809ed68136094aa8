// No text makes the reader of shell texts go astray: what it finds lies within the text, quoting
// the text hides it, and the quick look at the bytes overlooks nothing that the reader would find.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "format/shell_dialect.h"

namespace {

using spate::format::FindBashText;
using spate::format::ReadBashText;
using spate::format::ShellKind;

bool IsWithin(std::string_view part, std::string_view text) {
  return part.empty() ||
         (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of its own size, so that looking beyond it shows.
  const std::string copy(reinterpret_cast<const char*>(data), size);
  std::string_view text = copy;
  for (ShellKind kind : {ShellKind::kPosix, ShellKind::kKsh, ShellKind::kZsh}) {
    auto found = FindBashText(text, kind);
    if (found) CHECK(!found->text.empty() && IsWithin(found->text, text));
    auto again = ReadBashText(text, kind);
    CHECK(again.has_value() == found.has_value());
    if (found) CHECK(again->text == found->text && again->instead == found->instead);
  }
  CHECK(!FindBashText(text, ShellKind::kBash));
  if (text.find('\'') == std::string_view::npos) {
    CHECK(!FindBashText("echo '" + copy + "'", ShellKind::kPosix));
  }
  return 0;
}
