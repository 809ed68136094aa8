// Names of nodes, pools, groups of users and labels: valid unquoted in shells and file systems.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spate {

// Returns `text` if it is a letter or digit, then letters, digits, '.', '_', '-' or characters of
// `also`, at most 255 bytes. kInvalid otherwise; the message calls it a `what` ("node name").
Result<std::string> ReadName(std::string_view text, std::string_view what,
                             std::string_view also = {});
inline constexpr std::string_view kAlsoInLabels = ":";
// Stricter: a letter first and no '.', because pilots are POOL.N and batch jobs have the name.
inline constexpr size_t kPoolNameBytes = 30;
Status CheckPoolName(std::string_view name);

}  // namespace spate
