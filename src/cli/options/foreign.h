// Options of other programs that spate does not have, and what to use instead.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace spate::cli {

struct ForeignOption {
  std::string_view names;  // without dashes, separated by blanks
  std::string_view hint;   // its options are the command's own, up to the first "spate COMMAND"
  bool ignored = false;    // a switch that asks for what happens here anyway
};
// GNU parallel's, and those of batch systems and workflow tools.
std::span<const ForeignOption> ParallelOptions();
std::span<const ForeignOption> BatchOptions();

// `name` without dashes: "sshlogin", "S". nullopt when it is not one of GNU parallel's.
std::optional<std::string> ForeignHint(std::string_view name);
// With its dashes: whether it asks for what happens here anyway, and has no value ("--eta"). Such a
// word is passed over.
bool IsForeignIgnored(std::string_view typed);

// With its dashes ("-N", "--partition"). "-N" and "-n" are nodes and tasks to whoever submits to
// batch systems.
std::optional<std::string> BatchSystemHint(std::string_view typed);

}  // namespace spate::cli
