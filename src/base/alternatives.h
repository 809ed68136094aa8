// Alternatives of a variant by their places, which are what bytes know them by.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

namespace spate {

namespace internal {

template <typename T, typename... Each>
consteval size_t PlaceIn(const std::variant<Each...>*) {
  size_t place = 0;
  (void)((std::is_same_v<T, Each> || (++place, false)) || ...);
  return place;
}

template <typename Variant, size_t... places>
Variant MakeAlternative(size_t place, std::index_sequence<places...>) {
  Variant made;
  (void)((place == places && (made.template emplace<places>(), true)) || ...);
  return made;
}

}  // namespace internal

// From 0.
template <typename T, typename Variant>
inline constexpr size_t kPlaceOf = internal::PlaceIn<T>(static_cast<const Variant*>(nullptr));

// The alternative at this place, which exists, with its default value.
template <typename Variant>
Variant MakeAlternative(size_t place) {
  return internal::MakeAlternative<Variant>(
      place, std::make_index_sequence<std::variant_size_v<Variant>>());
}

}  // namespace spate
