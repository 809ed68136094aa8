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
// another default, and its zeros are not in the bytes: a SPATE_MESSAGE, and what was sent before
// there were these lists. Other types do without.
//
// A type with kTextBytes has no longer text, also in its lists of texts, than so many bytes, unless
// a bound says otherwise.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

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
// A list of a type whose fields are numbers: in bytes one packed field with all of them, the rows
// one behind the other.
template <typename List>
struct Packed {
  List& rows;
};
template <typename List>
Packed(List&) -> Packed<List>;
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

// Bounds of a field beside its type, when it comes from another program.
struct Bounds {
  bool must = false;    // it is there, and neither zero nor empty
  bool sorted = false;  // of texts, or rows that begin with one: ascending, each once, none empty
  int64_t least = std::numeric_limits<int64_t>::min();
  // A text's bytes; in a list of texts each one's; of ranges of tasks all tasks.
  uint64_t most = std::numeric_limits<uint64_t>::max();
  uint64_t count = std::numeric_limits<uint64_t>::max();  // of a list
  const char* of = "texts";                               // what the list's elements are called
  bool cut = false;  // of a text for people: a longer one is cut by its sender
  friend constexpr bool operator==(const Bounds&, const Bounds&) = default;
};
// Calls a visitor with the bounds, if it takes them.
template <typename Visit>
class Bounded {
 public:
  Bounded(Visit& visit, const Bounds& bounds) : visit_(visit), bounds_(bounds) {}
  template <typename T>
  void operator()(uint32_t number, std::string_view name, T&& value) {
    if constexpr (std::invocable<Visit&, uint32_t, std::string_view, T, const Bounds&>) {
      visit_(number, name, std::forward<T>(value), bounds_);
    } else {
      visit_(number, name, std::forward<T>(value));
    }
  }

 private:
  Visit& visit_;
  const Bounds bounds_;
};
// Visits the fields of a member by their own numbers (0), or from this number on.
template <typename T, typename Visit>
void VisitFrom(uint32_t number, T& value, Visit& visit) {
  const uint32_t before = number == 0 ? 0 : number - 1;
  auto shifted = [&]<typename V>(uint32_t own, std::string_view name, V&& field,
                                 const Bounds& bounds = {}) {
    Bounded(visit, bounds)(own + before, name, std::forward<V>(field));
  };
  T::Fields(value, shifted);
}

namespace internal {
struct AnyVisit {
  template <typename T>
  void operator()(unsigned, std::string_view, T&&) {}
};
}  // namespace internal
template <typename T>
concept HasFields = requires(T& value) { T::Fields(value, internal::AnyVisit()); };

// Lists of texts in a type that has kTextBytes.
inline constexpr uint64_t kMostTexts = 65'536;

template <typename T>
concept LeavesOutZeros = requires { T::kLeavesOutZeros; };

}  // namespace spate
