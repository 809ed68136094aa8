// FieldText: a value of a type that lists its fields as text, for traces and tests:
// "job=3 tasks=[{first=0 count=5}] reason='gone'". Zeros and what is empty are left out.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/time.h"
#include "core/model/fields.h"

namespace spate {

namespace internal {

class FieldTexts {
 public:
  explicit FieldTexts(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(uint32_t, std::string_view name, T&& value) {
    if (IsZero(value)) return;
    if (!out_.empty() && out_.back() != '{') out_ += ' ';
    fmt::format_to(std::back_inserter(out_), "{}=", name);
    Put(value);
  }

 private:
  template <typename T>
  static bool IsZero(const T& value) {
    if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else if constexpr (requires { value == T(); }) {
      return value == T();
    } else {
      return false;
    }
  }
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  void Put(T value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Put(E value) {
    out_ += WordOf(value);
  }
  // An id, or the shape of a value.
  template <typename T>
    requires requires(const T& one) { one.value; }
  void Put(const T& one) {
    Put(one.value);
  }
  void Put(Duration value) { Put(value.ns); }
  void Put(Instant value) { Put(value.ns); }
  void Put(std::string_view value) { fmt::format_to(std::back_inserter(out_), "'{}'", value); }
  template <typename T>
  void Put(const std::optional<T>& value) {
    if (value) Put(*value);
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      out_ += i == 0 ? '[' : ' ';
      Put(values[i]);
    }
    out_ += ']';
  }
  template <typename Shape>
    requires requires(Shape shape) { shape.rows; }
  void Put(const Shape& shape) {
    Put(shape.rows);
  }
  template <HasFields T>
  void Put(const T& value) {
    out_ += '{';
    T::Fields(value, *this);
    out_ += '}';
  }

  std::string& out_;
};

}  // namespace internal

template <HasFields T>
std::string FieldText(const T& value) {
  std::string text;
  T::Fields(value, internal::FieldTexts(text));
  return text;
}

}  // namespace spate
