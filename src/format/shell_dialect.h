// Parts of a shell text that bash understands and the task's shell does not.
//
// `./work.sh &> log` is one command to bash; a POSIX shell starts `./work.sh` in the background and
// empties `log`. Such a text is found before anything runs. Quotes, comments and here-documents
// are not searched, and a text that cannot be followed to its end counts as
// sound: the shell itself will complain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/shell_kind.h"

namespace spate::format {

struct BashText {
  std::string_view text;     // as it is written: "&>", "{1..3}", "$RANDOM"
  std::string_view instead;  // how every shell understands it; empty: there is no short way
  friend bool operator==(const BashText&, const BashText&) = default;
};

// The first such thing in `text`. `variables` are set for the task, so that $HOSTNAME, $UID and
// their like mean the same to every shell.
std::optional<BashText> FindBashText(std::string_view text, ShellKind kind,
                                     std::span<const std::string> variables = {});

// The same without the first look at the bytes (bash_scan.h), which only saves time.
std::optional<BashText> ReadBashText(std::string_view text, ShellKind kind,
                                     std::span<const std::string> variables = {});

// The same for the text in the argv of a shell: sh -c TEXT.
std::optional<BashText> FindBashTextInArgv(std::span<const std::string> argv,
                                           std::span<const std::string> variables = {});

// The variables that bash sets itself and other shells do not.
std::span<const std::string_view> BashVariables();

}  // namespace spate::format
