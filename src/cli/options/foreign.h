// Options of other programs that spate does not have, and what to use instead.
#pragma once

#include <optional>
#include <string_view>

namespace spate::cli {

// `name` without dashes: "sshlogin", "S". nullopt when it is not one of GNU parallel's.
std::optional<std::string_view> ForeignHint(std::string_view name);
// With its dashes: whether it asks for what happens here anyway, and has no value ("--eta"). Such a
// word is passed over.
bool IsForeignIgnored(std::string_view typed);

// With its dashes ("-N", "--partition"). "-N" and "-n" are nodes and tasks to whoever submits to
// batch systems.
std::optional<std::string_view> BatchSystemHint(std::string_view typed);

}  // namespace spate::cli
