// AnyFields: gives each field of a type that lists them any value of its type.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "base/time.h"
#include "core/model/field_text.h"
#include "core/model/fields.h"

namespace spate::store {

class AnyFields {
 public:
  explicit AnyFields(Prng& prng) : prng_(prng) {}

  template <typename T>
  void operator()(unsigned, std::string_view, T& value) {
    Set(value);
  }
  template <typename Shape>
    requires(!std::is_lvalue_reference_v<Shape>)
  void operator()(unsigned, std::string_view, Shape&& shape) {
    if constexpr (requires { shape.rows; }) {
      Set(shape.rows);
    } else {
      Set(shape.value);
    }
  }
  template <HasFields T>
  void Set(T& value) {
    T::Fields(value, *this);
  }

 private:
  // Small and large numbers alike, so that every length of varint is met.
  template <std::integral T>
  void Set(T& value) {
    value = static_cast<T>(prng_.Next() >> prng_.Below(64));
  }
  void Set(bool& value) { value = prng_.Chance(50); }
  template <typename E>
    requires std::is_enum_v<E>
  void Set(E& value) {
    value = static_cast<E>(prng_.Below(kCountOf<E>));
  }
  template <typename Tag, typename Rep>
  void Set(Id<Tag, Rep>& value) {
    Set(value.value);
  }
  void Set(Duration& value) { value.ns = static_cast<int64_t>(prng_.Next() >> 1); }
  void Set(Instant& value) { Set(value.ns); }
  void Set(std::string& value) {
    value.resize(prng_.Below(200));
    for (char& c : value) c = static_cast<char>(prng_.Below(256));
  }
  template <typename T>
  void Set(std::optional<T>& value) {
    value.reset();
    if (prng_.Chance(70)) Set(value.emplace());
  }
  template <typename T>
  void Set(std::vector<T>& value) {
    value.resize(prng_.Below(5));
    for (T& each : value) Set(each);
  }

  Prng& prng_;
};

// All values of a record, for comparison.
template <typename... T>
std::string TextOf(const std::variant<T...>& record) {
  return std::visit([](const auto& each) { return FieldText(each); }, record);
}

}  // namespace spate::store
