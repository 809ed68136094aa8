// Lines of shell scripts where a list of commands is expected.
#pragma once

#include <string_view>

namespace spate::format {

// True: a shell takes the end of the text for a comment: a # begins a word, outside quotes and
// substitutions.
bool EndsInComment(std::string_view text);

// True: the command has a meaning in a script only: it changes nothing but the shell that runs
// it (cd, export, set, module load, an assignment), or is a part of a compound command (do, done,
// fi). A command that also runs something is a task: X=1 prog, cd x && prog, . file. Most lines
// cost one look at their first word.
bool IsScriptLine(std::string_view command);

}  // namespace spate::format
