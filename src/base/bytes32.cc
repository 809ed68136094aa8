#include "base/bytes32.h"

#include <cstddef>

namespace spate {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

int ValueOf(char c) {
  if (c >= 'A' && c <= 'F') c = static_cast<char>(c + ('a' - 'A'));
  size_t at = kDigits.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

std::string ToHex(const Bytes32& bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Bytes32> Bytes32FromHex(std::string_view text) {
  Bytes32 bytes;
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  for (size_t i = 0; i < bytes.size(); ++i) {
    int high = ValueOf(text[2 * i]);
    int low = ValueOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return bytes;
}

}  // namespace spate
