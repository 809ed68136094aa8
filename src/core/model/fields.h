// Types that list their fields (base/field_list.h), once, for all that write or read them: bytes
// between programs, of settings and of records (core/model/field_bytes.h) and JSON
// (present/json/json_fields.h). SPATE_FIELDS turns the list into
//
//   template <typename Self, typename Visit>
//   static void Fields(Self& self, Visit&& visit) {
//     visit(1, "user", self.user), visit(2, "weight", self.weight);
//   }
//
// Numbers are what bytes know fields by: from 1, each once, never given to another field. Names are
// JSON's, which keeps the order of the list. A field may be a number, bool, double, enum, id, text,
// Duration, Instant, another such type, or std::optional or std::vector of one of them, or have one
// of the shapes below.
//
// A type with kLeavesOutZeros means zero by a field that is not there, also where its member has
// another default, and its zeros are not in the bytes. So it was before there were these lists; a
// new type does without.
#pragma once

#include <string_view>
#include <type_traits>

#include "base/enum_list.h"
#include "base/field_list.h"

namespace spate {

// In place of a name: JSON does not tell this field.
inline constexpr std::string_view kNotInJson = "";
// The fields of this field stand in the JSON object around it; nothing does when it is absent.
inline constexpr std::string_view kInto = "*";

// A list of a type with fields, in columns: the first field of all its elements has this number,
// the second one the next number, and so on. They are numbers and texts.
template <typename List>
struct Columns {
  List& rows;
};
template <typename List>
Columns(List&) -> Columns<List>;
// A number from -1 on: in bytes it is one more, and -1 is left out.
template <typename T>
struct OneMore {
  T& value;
};
template <typename T>
OneMore(T&) -> OneMore<T>;
// A time that may be Duration::Max(), however far other times may go; JSON has null for that.
template <typename T>
struct OrNever {
  T& value;
};
template <typename T>
OrNever(T&) -> OrNever<T>;

namespace internal {
struct AnyVisit {
  template <typename T>
  void operator()(unsigned, std::string_view, T&&) {}
};
}  // namespace internal
template <typename T>
concept HasFields = requires(T& value) { T::Fields(value, internal::AnyVisit()); };

template <typename T>
concept LeavesOutZeros = requires { T::kLeavesOutZeros; };

}  // namespace spate
