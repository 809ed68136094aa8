// Numbers as scanf reads them: blanks may stand before one, and what follows it does not matter.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace spate::format {

// May be infinite.
inline std::optional<float> ScanFloat(const std::string& text) {
  char* end = nullptr;
  float value = std::strtof(text.c_str(), &end);
  return end == text.c_str() || std::isnan(value) ? std::nullopt : std::optional(value);
}

inline std::optional<int32_t> ScanInt(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  long value = std::strtol(text.c_str(), &end, 10);
  bool fits = errno == 0 && value >= INT32_MIN && value <= INT32_MAX;
  return end == text.c_str() || !fits ? std::nullopt : std::optional(static_cast<int32_t>(value));
}

}  // namespace spate::format
