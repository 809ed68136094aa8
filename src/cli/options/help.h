// Help texts, made from definitions. Lines have at most 80 columns and end with a newline.
#pragma once

#include <string>
#include <string_view>

#include "cli/options/command.h"

namespace spate::cli {

// Ten lines for `spate` alone.
std::string ShortHelp();
// `spate COMMAND --help`; with `all` the details too.
std::string CommandHelp(const Command& command, bool all);

// A line for each example of the command, with a comment, so that it may be copied whole.
std::string ExampleLines(const Command& command);
// "-j, --jobs N"
std::string OptionSynopsis(const Option& def);
// `text` in lines of at most `width` columns, each after `indent` blanks. Paragraphs end at '\n'.
std::string Wrap(std::string_view text, size_t indent, size_t width = 80);

}  // namespace spate::cli
