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
    Append(value);
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
  void Append(T value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Append(E value) {
    out_ += WordOf(value);
  }
  // An id, or the shape of a value.
  template <typename T>
    requires requires(const T& one) { one.value; }
  void Append(const T& one) {
    Append(one.value);
  }
  void Append(Duration value) { Append(value.ns); }
  void Append(Instant value) { Append(value.ns); }
  void Append(std::string_view value) { fmt::format_to(std::back_inserter(out_), "'{}'", value); }
  template <typename T>
  void Append(const std::optional<T>& value) {
    if (value) Append(*value);
  }
  template <typename T>
  void Append(const std::vector<T>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      out_ += i == 0 ? '[' : ' ';
      Append(values[i]);
    }
    out_ += ']';
  }
  template <typename Shape>
    requires requires(Shape shape) { shape.rows; }
  void Append(const Shape& shape) {
    Append(shape.rows);
  }
  template <HasFields T>
  void Append(const T& value) {
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
