// Times as Parasol's reports show them, in the local time of whoever asks.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>

namespace spate::parasol {

// Seconds since 1970 as fields of the local calendar.
using LocalTime = std::function<std::tm(int64_t seconds)>;

std::string CtimeText(const std::tm& when);     // "Sat Nov 21 18:56:10 2026"
std::string DateTimeText(const std::tm& when);  // "2026/11/21 18:56:10"

}  // namespace spate::parasol
