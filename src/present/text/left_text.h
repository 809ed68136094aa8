// Words for what tasks wait for after their commands have ended (core/model/leftovers.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/model/facts.h"

namespace spate::present {

// The reason why a task waits: `before`, processes that its command left running, `after`; or why
// its files do not open yet, alone.
std::string WaitText(std::string_view before, const std::string& what, std::string_view after = {});
// "task 3: sort (pid 12) on node n1, left running by its command"
std::string LeftText(const LeftRunningFacts& left);
// One line for all, for a bar: "sort (pid 12) on n1 and 2 other tasks". Empty for none.
std::string LeftTextOfAll(std::span<const LeftRunningFacts> left);

}  // namespace spate::present
