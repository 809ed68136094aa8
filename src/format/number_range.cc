#include "format/number_range.h"

#include <cstdint>
#include <limits>

#include "base/units.h"

namespace spate::format {
namespace {

// A number from 1 on; nullopt for anything else.
std::optional<uint32_t> PositiveNumber(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  auto count = ParseCount(text);
  if (!count || *count < 1 || *count > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*count);
}

}  // namespace

std::optional<NumberRange> ParseNumberRange(std::string_view text) {
  std::optional<uint32_t> step = 1;
  size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    step = PositiveNumber(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  size_t dash = text.find('-');
  auto first = PositiveNumber(text.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : PositiveNumber(text.substr(dash + 1));
  bool stepped_alone = colon != std::string_view::npos && dash == std::string_view::npos;
  if (!first || !last || !step || stepped_alone || *first > *last) return std::nullopt;
  return NumberRange{*first, *last, *step};
}

std::optional<NumberRange> ParseMarkedRange(std::string_view name) {
  if (!name.starts_with(kNumberMark)) return std::nullopt;
  return ParseNumberRange(name.substr(1));
}

}  // namespace spate::format
