// The bytes of a type that lists its fields (core/model/fields.h), without their numbers: what the
// journal has of a record, where each byte counts. Fields stand in the order of their numbers, and
// so do those of the types in it; docs/formats/journal.md has the form of each. A type in a record
// gets no new field without a new format. A record itself may: fields from its kFirstLater on are
// left out, from the end, while they have their defaults.
//
// Invariants: what was written is read again; reading neither looks outside its input nor allocates
// more than a small multiple of its length, whatever the bytes are.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "core/model/job.h"
#include "store/bytes.h"

namespace spate::store {

namespace internal {

// Calls code(number, field) for each field in the order of the numbers.
template <typename T, typename Code>
void InOrder(T& value, const Code& code) {
  constexpr uint32_t kNone = UINT32_MAX;
  for (uint32_t last = 0, next = kNone;; last = std::exchange(next, kNone)) {
    T::Fields(value, [&](uint32_t number, std::string_view, auto&&) {
      if (number > last) next = std::min(next, number);
    });
    if (next == kNone) return;
    T::Fields(value, [&](uint32_t number, std::string_view, auto&& field) {
      if (number == next) code(number, field);
    });
  }
}

template <typename T>
constexpr uint32_t FirstLater() {
  if constexpr (requires { T::kFirstLater; }) return T::kFirstLater;
  return UINT32_MAX;
}

}  // namespace internal

class BareWriter {
 public:
  explicit BareWriter(std::string& out) : bytes_(out) {}

  // Leaves out the last ones of the later fields that have their defaults.
  template <typename T>
  void Record(const T& record) {
    uint32_t last = internal::FirstLater<T>() - 1;
    if constexpr (requires { T::kFirstLater; }) {
      internal::InOrder(record, [&](uint32_t number, const auto& field) {
        if (number > last && field != std::remove_cvref_t<decltype(field)>()) last = number;
      });
    }
    internal::InOrder(record, [&](uint32_t number, const auto& field) {
      if (number <= last) Write(field);
    });
  }

 private:
  void Write(bool v) { bytes_.Byte(v ? 1 : 0); }
  template <std::unsigned_integral T>
  void Write(T v) {
    bytes_.Varint(v);
  }
  template <std::signed_integral T>
  void Write(T v) {
    bytes_.Zigzag(v);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Write(E v) {
    bytes_.Byte(static_cast<uint8_t>(v));
  }
  template <typename Tag, typename Rep>
  void Write(Id<Tag, Rep> v) {
    bytes_.Varint(v.value);
  }
  void Write(Duration v) { bytes_.Zigzag(v.ns); }
  void Write(Instant v) { bytes_.Zigzag(v.ns); }
  void Write(const std::string& v) { bytes_.Text(v); }
  void Write(const std::optional<uint32_t>& v) { bytes_.Varint(v ? uint64_t{*v} + 1 : 0); }
  template <typename T>
  void Write(const std::optional<T>& v) {
    Write(v.has_value());
    if (v) Write(*v);
  }
  template <typename T>
  void Write(const std::vector<T>& v) {
    bytes_.Varint(v.size());
    for (const T& each : v) Write(each);
  }
  template <typename Shape>
    requires requires(Shape v) { v.rows; }
  void Write(Shape v) {
    Write(v.rows);
  }
  template <HasFields T>
  void Write(const T& v) {
    internal::InOrder(v, [this](uint32_t, const auto& field) { this->Write(field); });
  }

  ByteWriter bytes_;
};

class BareReader {
 public:
  explicit BareReader(std::string_view in) : bytes_(in) {}

  // False: the bytes are no such record, or more than one.
  template <typename T>
  bool Record(T& record) {
    internal::InOrder(record, [this](uint32_t number, auto& field) {
      if (number < internal::FirstLater<T>() || bytes_.left() > 0) Read(field);
    });
    return bytes_.ok() && bytes_.left() == 0;
  }

 private:
  // False, and all further reads give 0.
  bool Must(bool holds) {
    if (!holds) bytes_.Fail();
    return holds;
  }

  void Read(bool& v) {
    uint8_t read = bytes_.Byte();
    if (Must(read <= 1)) v = read == 1;
  }
  template <std::unsigned_integral T>
  void Read(T& v) {
    uint64_t read = bytes_.Varint();
    if (Must(read <= std::numeric_limits<T>::max())) v = static_cast<T>(read);
  }
  template <std::signed_integral T>
  void Read(T& v) {
    int64_t read = bytes_.Zigzag();
    if (Must(std::in_range<T>(read))) v = static_cast<T>(read);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Read(E& v) {
    auto read = FromNumber<E>(bytes_.Byte());
    if constexpr (std::is_same_v<E, HoldReason>) {
      if (read == HoldReason::kResults) read.reset();  // in no journal
    }
    if (Must(read.has_value())) v = *read;
  }
  template <typename Tag, typename Rep>
  void Read(Id<Tag, Rep>& v) {
    Read(v.value);
  }
  void Read(Duration& v) { v.ns = bytes_.Zigzag(); }
  void Read(Instant& v) { v.ns = bytes_.Zigzag(); }
  void Read(std::string& v) { v = bytes_.Text(); }
  void Read(std::optional<uint32_t>& v) {
    uint64_t read = bytes_.Varint();
    if (Must(read <= uint64_t{UINT32_MAX} + 1) && read > 0) v = static_cast<uint32_t>(read - 1);
  }
  template <typename T>
  void Read(std::optional<T>& v) {
    bool is_there = false;
    Read(is_there);
    if (is_there) Read(v.emplace());
  }
  template <typename T>
  void Read(std::vector<T>& v) {
    uint64_t count = bytes_.Varint();
    // Every item takes at least one byte, so a count beyond what is left is damage, and the
    // memory taken is bounded by the input.
    if (!Must(count <= bytes_.left())) return;
    v.reserve(count);
    for (uint64_t i = 0; i < count && bytes_.ok(); ++i) Read(v.emplace_back());
  }
  template <typename Shape>
    requires requires(Shape v) { v.rows; }
  void Read(Shape& v) {
    Read(v.rows);
  }
  template <HasFields T>
  void Read(T& v) {
    internal::InOrder(v, [this](uint32_t, auto& field) { this->Read(field); });
  }

  ByteReader bytes_;
};

}  // namespace spate::store
