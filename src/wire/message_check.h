// The check of what was read of another program's message: bounds of its fields
// (core/model/fields.h), and what a list cannot say. The first defect is told by the field's name.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "wire/field_bytes.h"
#include "wire/greeting.h"
#include "wire/messages.h"

namespace spate::wire {

// After the first defect everything else is harmless, and ok() is false.
class MessageCheck {
 public:
  // `message` is what the names of fields begin with: "lease".
  explicit MessageCheck(std::string_view message) : path_(message) {}

  bool ok() const { return error_.empty(); }
  std::unexpected<Error> Failure() const { return spate::Fail(ErrorKind::kCorrupt, error_); }
  void Defect(std::string_view field, std::string_view what, std::string_view of = "");

  // Checks all of them, and CheckMore of their types.
  template <HasFields T>
  void Fields(const T& value);

  // A number from `least` to `most`.
  template <typename To, typename From>
  To Number(std::string_view field, From v, std::type_identity_t<From> least,
            std::type_identity_t<From> most) {
    if (v < least || v > most) {
      Defect(field, "is out of range");
      v = least;
    }
    return static_cast<To>(v);
  }
  template <typename T>
  T Id(std::string_view field, uint32_t v) {
    using Rep = decltype(T().value);
    if (v == 0) Defect(field, "is missing");
    if (v > std::numeric_limits<Rep>::max()) Defect(field, "is out of range");
    return T(static_cast<Rep>(v));
  }

 private:
  template <typename T>
  struct Walk;

  void Text(std::string_view field, std::string_view text, const Bounds& bounds, bool in_list);
  void Texts(std::string_view field, const std::vector<std::string>& texts, const Bounds& bounds);
  void Ranges(std::string_view field, const std::vector<TaskRange>& ranges, const Bounds& bounds);
  // A list of texts, or of rows with names.
  template <typename List, typename Name>
  void Sorted(std::string_view field, const List& list, Name name) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (name(list[i]).empty()) Defect(field, "has an empty name");
      if (i > 0 && name(list[i]) <= name(list[i - 1])) Defect(field, "is not sorted");
    }
  }
  template <typename T>
  void Value(std::string_view field, const T& value, const Bounds& bounds, bool in_list) {
    if constexpr (std::is_floating_point_v<T>) {
      const bool is_finite = std::abs(value) <= std::numeric_limits<T>::max();
      const bool fits = is_finite && value >= static_cast<T>(bounds.least) &&
                        (bounds.most == Bounds().most || value <= static_cast<T>(bounds.most));
      if (!fits && bounds != Bounds()) Defect(field, "is out of range");
    } else if constexpr (std::is_integral_v<T>) {
      if (bounds.must && value == 0) Defect(field, in_list ? "has a zero" : "is missing");
      if (std::cmp_less(value + 0, bounds.least) || std::cmp_greater(value + 0, bounds.most)) {
        Defect(field, "is out of range");
      }
    } else if constexpr (std::is_enum_v<T>) {
      Value(field, std::to_underlying(value), bounds, in_list);
    } else if constexpr (requires { value.value; }) {
      Value(field, value.value, bounds, in_list);
    }
  }

  std::string path_;
  std::string error_;
};

// Each notes what is wrong beside the bounds of the type's fields.
void CheckMore(MessageCheck& in, const Greeting& greeting);
void CheckMore(MessageCheck& in, const Lease& lease);
void CheckMore(MessageCheck& in, const TaskClass& of_tasks);
void CheckMore(MessageCheck& in, const GangPart& part);
void CheckMore(MessageCheck& in, const JobSettings& settings);
void CheckMore(MessageCheck& in, const JobPolicy& policy);

// The fields of a T, or (`list`) of its rows, which are told by the list's name.
template <typename T>
struct MessageCheck::Walk {
  MessageCheck& in;
  std::string_view list = {};

  template <typename V>
  void operator()(uint32_t, std::string_view name, const V& value, Bounds bounds = {}) {
    if (!in.ok()) return;
    constexpr bool kHasTexts =
        std::is_convertible_v<V, std::string_view> || std::is_same_v<V, std::vector<std::string>>;
    if constexpr (kHasTexts && requires { T::kTextBytes; }) {
      if (bounds.most == Bounds().most) bounds.most = T::kTextBytes;
      bounds.count = std::min<uint64_t>(bounds.count, kMostTexts);
    }
    Check(list.empty() ? name : list, value, bounds);
  }

 private:
  // Numbers and texts.
  template <typename V>
  void Check(std::string_view name, const V& value, const Bounds& bounds) {
    if constexpr (std::is_convertible_v<V, std::string_view>) {
      in.Text(name, value, bounds, !list.empty());
    } else if constexpr (HasFields<const V>) {
      if constexpr (std::equality_comparable<V>) {
        if (!bounds.must && value == V()) return;  // nothing is said
      }
      const size_t outer = in.path_.size();
      in.path_.append(".").append(name);
      in.Fields(value);
      in.path_.resize(outer);
    } else {
      in.Value(name, value, bounds, !list.empty());
    }
  }
  // A message that is there is checked, also when all of it is as without it.
  template <typename V>
  static Bounds There(Bounds bounds) {
    bounds.must = bounds.must || HasFields<const V>;
    return bounds;
  }
  template <typename V>
  void Check(std::string_view name, const std::optional<V>& value, const Bounds& bounds) {
    if (value) Check(name, *value, There<V>(bounds));
  }
  template <typename V>
  void Check(std::string_view name, const std::shared_ptr<V>& value, const Bounds& bounds) {
    if (bounds.must && !value) in.Defect(name, "is missing");
    if (value) Check(name, *value, There<V>(bounds));
  }
  template <typename V>
  void Check(std::string_view name, const OneMore<V>& value, const Bounds& bounds) {
    Check(name, value.value, bounds);
  }
  void Check(std::string_view name, const std::vector<std::string>& texts, const Bounds& bounds) {
    in.Texts(name, texts, bounds);
  }
  template <typename V>
  void Check(std::string_view name, const std::vector<V>& values, const Bounds& bounds) {
    if (values.size() > bounds.count) in.Defect(name, "has too many ", bounds.of);
    if constexpr (HasFields<V>) {
      for (const V& value : values) Check(name, value, There<V>(bounds));
    }
  }
  template <typename List>
  void Check(std::string_view name, const Columns<List>& columns, const Bounds& bounds) {
    Rows(name, columns.rows, bounds);
  }
  template <typename List>
  void Check(std::string_view name, const Packed<List>& packed, const Bounds& bounds) {
    if constexpr (std::is_same_v<std::remove_const_t<List>, std::vector<TaskRange>>) {
      in.Ranges(name, packed.rows, bounds);
    } else {
      Rows(name, packed.rows, bounds);
    }
  }
  template <typename Row>
  void Rows(std::string_view name, const std::vector<Row>& rows, const Bounds& bounds) {
    if (rows.size() > bounds.count) in.Defect(name, "has too many ", bounds.of);
    if constexpr (requires(const Row& row) { row.name; }) {
      if (bounds.sorted)
        in.Sorted(name, rows, [](const Row& row) { return std::string_view(row.name); });
    }
    for (const Row& row : rows) Row::Fields(row, Walk{in, name});
  }
};

template <HasFields T>
void MessageCheck::Fields(const T& value) {
  T::Fields(value, Walk<T>{*this});
  if constexpr (requires { CheckMore(*this, value); }) CheckMore(*this, value);
}

}  // namespace spate::wire
