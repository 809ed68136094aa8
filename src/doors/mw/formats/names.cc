#include "doors/mw/formats/names.h"

#include <algorithm>

#include "base/number.h"

namespace spate::mw {
namespace {

constexpr size_t kNameBytes = 256;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

void AddAnySlave(std::vector<std::string>& labels) {
  labels.emplace(std::ranges::upper_bound(labels, kAnySlaveLabel), kAnySlaveLabel);
}

bool IsResourceName(std::string_view text) {
  if (text.empty() || text.size() > kNameBytes || IsDigit(text.front())) return false;
  return std::ranges::all_of(
      text, [](char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '-'; });
}

bool IsLabel(std::string_view text) {
  if (text.empty() || text.size() > kNameBytes) return false;
  return text != kAnySlaveLabel && text.front() != '@' &&
         text.find_first_of(" \t\n,") == std::string_view::npos;
}

std::optional<Pieces> ParsePieces(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  Pieces pieces{.name = std::string(text.substr(0, equals)), .names = {}};
  std::string_view rest = text.substr(equals + 1);
  if (!IsResourceName(pieces.name) || rest.empty()) return std::nullopt;
  if (std::ranges::all_of(rest, IsDigit)) {
    auto count = ReadNumber<uint32_t>(rest);
    if (!count || *count == 0 || *count > kSlotsMost) return std::nullopt;
    for (uint32_t i = 0; i < *count; ++i) pieces.names.push_back(std::to_string(i));
    return pieces;
  }
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string name(rest.substr(0, comma));
    const bool is_new = std::ranges::find(pieces.names, name) == pieces.names.end();
    if (name.empty() || name.size() > kNameBytes || !is_new || pieces.names.size() == kSlotsMost) {
      return std::nullopt;
    }
    pieces.names.push_back(std::move(name));
    if (comma == rest.size()) return pieces;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace spate::mw
