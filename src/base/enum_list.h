// SPATE_ENUM: an enum whose values count from 0, each with its word. In a class: SPATE_INNER_ENUM.
//
//   SPATE_ENUM(Leftovers,
//              kEnd, "end",     // they have a moment to end
//              kWait, "wait");
//
// Bytes have the number: a new value goes to the end.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/each.h"

#define SPATE_ENUM(name, ...) SPATE_ENUM_AS(constexpr, name, __VA_ARGS__)
#define SPATE_INNER_ENUM(name, ...) SPATE_ENUM_AS(friend constexpr, name, __VA_ARGS__)
#define SPATE_ENUM_AS(specifiers, name, ...)                                  \
  enum class name : uint8_t { SPATE_EACH(SPATE_ENUMERATOR, __VA_ARGS__) };    \
  specifiers auto WordsOf(name) {                                             \
    return std::to_array<const char*>({SPATE_EACH(SPATE_WORD, __VA_ARGS__)}); \
  }                                                                           \
  static_assert(true)
#define SPATE_ENUMERATOR(enumerator, word) enumerator
#define SPATE_WORD(enumerator, word) word

namespace spate {

template <typename E>
concept HasWords = std::is_enum_v<E> && requires(E value) { WordsOf(value); };
template <HasWords E>
inline constexpr auto kWordsOf = WordsOf(E());
template <HasWords E>
inline constexpr size_t kCountOf = kWordsOf<E>.size();
// The last value that others may write. An enum has its own function where it has no list, or where
// some values are in no bytes.
template <HasWords E>
constexpr E LastInBytes(E) {
  return static_cast<E>(kCountOf<E> - 1);
}
// The value of a number that others wrote; nullopt: there is none.
template <typename E, std::integral N>
constexpr std::optional<E> FromNumber(N number) {
  if (std::cmp_less(number, 0)) return std::nullopt;
  if (std::cmp_greater(number, std::to_underlying(LastInBytes(E())))) return std::nullopt;
  return static_cast<E>(number);
}

// "?" beyond the last value.
template <HasWords E>
constexpr const char* WordOf(E value) {
  const auto i = static_cast<size_t>(value);
  return i < kCountOf<E> ? kWordsOf<E>[i] : "?";
}
template <HasWords E>
constexpr std::optional<E> FromWord(std::string_view word) {
  for (size_t i = 0; i < kCountOf<E>; ++i) {
    if (word == kWordsOf<E>[i]) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace spate
