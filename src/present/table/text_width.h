// How many columns of a terminal a text takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spate::present {

// The width of what has no width, as a pipe: from here on nothing is cut and nothing broken. A
// number that a hub of an older program takes, too.
inline constexpr uint32_t kWholeWidth = 10'000;

// Width of valid UTF-8 without control bytes (EscapeForScreen). Wide characters count 2, combining
// and invisible ones 0.
size_t DisplayWidth(std::string_view text);

// The first columns of such a text, "..." at a cut when more than 3 columns are asked for.
std::string CutToWidth(std::string_view text, size_t columns);

// `text` in lines of at most `columns`, broken at blanks where there are any, else anywhere.
// Later lines begin with `indent` blanks, which count; of the first one `used` columns are taken.
std::string WrapToWidth(std::string_view text, size_t columns, size_t indent, size_t used = 0);

// A message with its line ends, broken at blanks where a line has more than `columns`. Longer words
// stay whole, and so does a command ("spate ..." up to ; or ) or the line's end): a terminal breaks
// it itself, and then copies it in one piece.
std::string WrapMessage(std::string_view text, size_t columns);

}  // namespace spate::present
