// Decides by make's rule if a command line needs a shell, and splits it into words if not.
//
// The promise: where NeedsShell says no, `bash -c text` and `/bin/sh -c text` (dash or bash) would
// run the same program with the same arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spate::format {

// True when `text` holds anything that is special to a POSIX shell: a quote, an operator, an
// expansion, a NUL or newline, an assignment before the command, or a command that the shell
// itself carries out (cd, exit, if, ...).
bool NeedsShell(std::string_view text);

// The words between blanks and tabs. For texts that need no shell.
std::vector<std::string> SplitBlanks(std::string_view text);

// {shell, "-c", text}. The shell may have arguments: "bash -euo pipefail".
std::vector<std::string> ShellArgv(std::string_view text, std::string_view shell);

// The shell of text that needs one, unless the text is for bash.
inline constexpr std::string_view kSh = "/bin/sh";

// The argv of a command line: its words when it needs no shell, else ShellArgv of `own`. A `shell`
// that is given has builtins that NeedsShell does not know, so it reads every line.
std::vector<std::string> CommandArgv(std::string_view text, std::string_view shell = {},
                                     std::string_view own = kSh);

}  // namespace spate::format
