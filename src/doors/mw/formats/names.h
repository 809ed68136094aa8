// Names of what slaves offer and tasks need, as `spate node start` and `spate submit` have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spate::mw {

// Limits for a slave, and for the needs of a task.
inline constexpr uint32_t kSlotsMost = 4096;
inline constexpr size_t kNamesMost = 16;  // resources, and labels
inline constexpr uint64_t kMemoryMost = uint64_t{1} << 60;
// A label of slaves that take tasks for any of them. Nobody else may have it.
inline constexpr std::string_view kAnySlaveLabel = "any";

// Adds it to sorted labels.
void AddAnySlave(std::vector<std::string>& labels);

// Letters, digits, _ . and -, and no digit in front; at most 256 bytes.
bool IsResourceName(std::string_view text);
// A word without blanks and commas, of 1 to 256 bytes, that is not kAnySlaveLabel and does not
// begin with '@'.
bool IsLabel(std::string_view text);

// Pieces of one resource.
struct Pieces {
  std::string name;
  std::vector<std::string> names;  // of each piece; 1 to kSlotsMost
  friend bool operator==(const Pieces&, const Pieces&) = default;
};
// "gpus=2" (pieces 0 and 1), or "gpus=0,3"; nullopt: it is neither.
std::optional<Pieces> ParsePieces(std::string_view text);

}  // namespace spate::mw
