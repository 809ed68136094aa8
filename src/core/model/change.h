// ChangeOf: values for some fields of a type (core/model/fields.h), so that zero, empty and none
// can be set, too. A field that is itself a type with fields is changed by these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "core/model/fields.h"

namespace spate {

namespace internal {

template <typename T>
T& ValueOf(T& value) {
  return value;
}
template <typename List>
List& ValueOf(Columns<List>& columns) {
  return columns.rows;
}
template <typename T>
T& ValueOf(OneMore<T>& number) {
  return number.value;
}
template <typename T>
T& ValueOf(OrNever<T>& time) {
  return time.value;
}

}  // namespace internal

// Calls visit(number, value) for each field that has no fields of its own. Numbers are below 256;
// that of a field of a field is the outer one plus 256 times the inner one.
template <typename T, typename Visit>
void VisitLeaves(T& value, Visit& visit, uint32_t outer = 0, unsigned shift = 0) {
  std::remove_const_t<T>::Fields(value, [&](uint32_t number, std::string_view, auto&& field) {
    auto& inner = internal::ValueOf(field);
    const uint32_t path = outer | number << shift;
    if constexpr (HasFields<std::remove_cvref_t<decltype(inner)>>) {
      VisitLeaves(inner, visit, path, shift + 8);
    } else {
      visit(path, inner);
    }
  });
}

// T has `Status CheckSound() const`.
template <HasFields T>
struct ChangeOf {
  T values = {};                      // what is not set means nothing
  std::vector<uint32_t> fields = {};  // the numbers of those that are set, ascending
  // Bytes have no empty lists: a value that is not in them is zero, not T's default.
  static constexpr bool kReadFromZeros = true;
  SPATE_FIELDS(1, values, 2, fields);

  bool empty() const { return fields.empty(); }
  // Sets a field of `values`, with all of its own fields.
  template <typename F>
  void Set(F& field, std::type_identity_t<F> value) {
    field = std::move(value);
    bool found = false;
    VisitWithin(field, [&](uint32_t number) {
      found = true;
      auto at = std::ranges::lower_bound(fields, number);
      if (at == fields.end() || *at != number) fields.insert(at, number);
    });
    CHECK(found);
  }
  // The change with a value of the field to which these pointers to members lead.
  template <auto... path, typename F>
  ChangeOf With(F value) && {
    Set((values.*....*path), std::move(value));
    return std::move(*this);
  }
  // True if this field of `values`, or one of its fields, is set.
  template <typename F>
  bool Sets(const F& field) const {
    bool sets = false;
    VisitWithin(field, [&](uint32_t number) { sets = sets || SetsNumber(number); });
    return sets;
  }
  // The value of a field of `values`, if it is set.
  template <typename F>
  std::optional<F> Get(const F& field) const {
    return Sets(field) ? std::optional(field) : std::nullopt;
  }
  // Assigns the fields that are set. Returns how many of them T has here; none when they are more
  // than T has.
  size_t AssignTo(T& to) const {
    std::vector<const void*> from;
    auto note = [&](uint32_t, const auto& value) { from.push_back(&value); };
    VisitLeaves(values, note);
    if (fields.size() > from.size()) return 0;  // whatever they are, it takes no time
    auto next = from.begin();
    size_t known = 0;
    auto assign = [&](uint32_t number, auto& value) {
      const auto& given = *static_cast<std::remove_reference_t<decltype(value)> const*>(*next++);
      if (!SetsNumber(number)) return;
      value = given;
      ++known;
    };
    VisitLeaves(to, assign);
    return known;
  }
  // `to` with the change. kInvalid: it sets a field that T does not have here, or the result is not
  // sound.
  Result<T> AppliedTo(T to) const {
    if (AssignTo(to) != fields.size()) {
      return Fail(ErrorKind::kInvalid,
                  "a value is to be set that is not known here; the program that asks is newer");
    }
    TRY(to.CheckSound());
    return to;
  }
  friend bool operator==(const ChangeOf&, const ChangeOf&) = default;

 private:
  bool SetsNumber(uint32_t number) const {
    return std::ranges::find(fields, number) != fields.end();
  }
  // Calls visit(number) for the fields of `values` that lie in this one.
  template <typename F, typename Visit>
  void VisitWithin(const F& field, Visit visit) const {
    const auto* begin = reinterpret_cast<const char*>(&field);
    auto within = [&](uint32_t number, const auto& value) {
      const auto* at = reinterpret_cast<const char*>(&value);
      if (begin <= at && at < begin + sizeof(field)) visit(number);
    };
    VisitLeaves(values, within);
  }
};

}  // namespace spate
