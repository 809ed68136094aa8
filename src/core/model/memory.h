// MemoryOf: the heap memory of values, by their fields: texts and lists with their capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/fields.h"

namespace spate {

// Overhead of one allocation, in bytes.
inline constexpr size_t kAllocation = 16;

namespace internal {

struct MemorySum {
  size_t bytes = 0;

  void Add(const std::string& text) {
    if (text.capacity() > std::string().capacity()) bytes += text.capacity() + kAllocation;
  }
  template <typename T>
  void Add(const std::vector<T>& list) {
    if (list.capacity() > 0) bytes += list.capacity() * sizeof(T) + kAllocation;
    for (const T& each : list) Add(each);
  }
  template <typename T>
  void Add(const std::optional<T>& value) {
    if (value) Add(*value);
  }
  template <typename T>
  void Add(const T& value) {
    if constexpr (HasFields<const T>) T::Fields(value, *this);
  }
  template <typename T>
  void operator()(uint32_t, std::string_view, const T& value) {
    Add(value);
  }
  template <typename List>
  void operator()(uint32_t, std::string_view, Columns<List>&& columns) {
    Add(columns.rows);
  }
};

}  // namespace internal

template <typename... T>
size_t MemoryOf(const T&... values) {
  internal::MemorySum sum;
  (sum.Add(values), ...);
  return sum.bytes;
}

}  // namespace spate
