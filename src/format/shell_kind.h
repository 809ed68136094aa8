// The shell that reads a task's text, by its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace spate::format {

enum class ShellKind : uint8_t {
  kPosix,  // sh, dash, ash, busybox: /bin/sh counts as one, whatever it is on this machine
  kKsh,
  kZsh,
  kBash,
  kOther,  // no shell of this family (python3, fish): its text is not looked at
};

// Kind of a --shell as typed: a command with its arguments. Empty: bash.
ShellKind KindOfShell(std::string_view shell);

}  // namespace spate::format
