// How a type lists its fields, once, for all that write or read them: bytes between programs
// (wire/field_bytes.h) and JSON (cli/view/json_fields.h).
//
//   struct Weight {
//     std::string user;
//     uint32_t weight = 1;
//     template <typename Self, typename Visit>
//     static void Fields(Self& self, Visit&& visit) {
//       visit(1, "user", self.user);
//       visit(2, "weight", self.weight);
//     }
//   };
//
// Numbers are what bytes know fields by: from 1, each once, never given to another field. Names are
// JSON's, which keeps the order of the list. A field may be a number, bool, double, enum, id, text,
// Duration, Instant, another such type, or std::optional or std::vector of one of them.
#pragma once

#include <string_view>
#include <type_traits>

namespace spate {

// In place of a name: JSON does not tell this field.
inline constexpr std::string_view kNotInJson = "";
// The fields of this field stand in the JSON object around it; nothing does when it is absent.
inline constexpr std::string_view kInto = "*";

namespace internal {
struct AnyVisit {
  template <typename T>
  void operator()(unsigned, std::string_view, T&) {}
};
}  // namespace internal
template <typename T>
concept HasFields = requires(T& value) { T::Fields(value, internal::AnyVisit()); };

// Of an enum that is a field: its last value, as bytes from others are checked against it.
template <typename E>
  requires std::is_enum_v<E>
inline constexpr E kLastOf = E::kLast;

}  // namespace spate
