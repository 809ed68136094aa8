// Lines and words of a text that is in memory whole.
#pragma once

#include <optional>
#include <string_view>

namespace spate::format {

// The next line without its LF or CR LF, removed from *rest; nullopt at the end. A last line may
// lack its end.
std::optional<std::string_view> NextLine(std::string_view* rest);
// The next word between blanks, removed from *rest; empty at the end.
std::string_view NextWord(std::string_view* rest);
// `text` without the white space around it.
std::string_view TrimBlanks(std::string_view text);

}  // namespace spate::format
