// Options of GNU parallel that spate does not have, and what to use instead.
#pragma once

#include <optional>
#include <string_view>

namespace spate::cli {

// `name` without dashes: "sshlogin", "S". nullopt when it is not one of GNU parallel's.
std::optional<std::string_view> ForeignHint(std::string_view name);

}  // namespace spate::cli
