// Texts in braces that look like a placeholder or a clause, and are none. They would pass as text,
// where somebody meant something else.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "format/template.h"

namespace spate::format {

// Why `text` is refused where the names of values are known: it has a word of two bytes or more in
// braces, alone or with the end of a placeholder ({nmae}, {nmae/.}), and no value is called so.
// Empty: it has none. These stay text: what follows one of $ % @ # \ { or a word that begins with a
// backslash (${var}, %{http_code}, \emph{x}), statements of awk ({print}), and all else in braces,
// such as {a,b}, {1..3}, { cmd; }, {"a": 1}.
std::string WhyMistyped(std::string_view text, const Template::Known& known);

// Why the command of a list's line, without its clauses, is refused: it has a clause whose first
// word is mistyped, as in {chek in exists f} or {nmae x}. Empty: it has none.
std::string WhyMistypedClause(std::string_view command);

}  // namespace spate::format
