// Bytes32: 32 bytes that mean one thing (a SHA-256, a secret, a key), and their hexadecimal text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spate {

using Bytes32 = std::array<uint8_t, 32>;

// 64 digits, lower case.
std::string ToHex(const Bytes32& bytes);
// Accepts exactly 64 digits, in either case.
std::optional<Bytes32> Bytes32FromHex(std::string_view text);

}  // namespace spate
