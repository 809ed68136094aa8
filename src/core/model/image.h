// Image: all members of a value as bytes, for the same program to read again. Not a format: another
// build may have other members, so its owner keeps with it what names the program that made it
// (os/loaded_code.h).
//
// Nothing lists the members of a struct: they are found in its declaration. A class with private
// members names them by a structured binding, which does not compile without each of them:
//
//   template <typename Self, typename Archive>
//   static void Image(Self& self, Archive& archive) {
//     auto& [first, second] = self;
//     archive(first, second);
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace spate {

namespace internal {

struct AnyMember {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor): never called
};
template <typename T, size_t... I>
constexpr bool IsMadeOf(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyMember())...}; };
}
inline constexpr size_t kMostMembers = 11;
template <typename T, size_t N = kMostMembers + 1>
constexpr size_t CountMembers() {
  if constexpr (N == 0 || IsMadeOf<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return CountMembers<T, N - 1>();
  }
}

}  // namespace internal

// Members of a struct. One with constructors states it; another number does not compile.
template <typename T>
inline constexpr size_t kMembersOf = internal::CountMembers<T>();
template <typename First, typename Second>
inline constexpr size_t kMembersOf<std::pair<First, Second>> = 2;

namespace internal {

// Calls visit(first member, second member, ...).
template <typename T, typename Visit>
void VisitMembers(T& value, Visit& visit) {
  constexpr size_t kCount = kMembersOf<std::remove_const_t<T>>;
  static_assert(0 < kCount && kCount <= kMostMembers);
  if constexpr (kCount == 1) {
    auto& [a] = value;
    visit(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = value;
    visit(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = value;
    visit(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = value;
    visit(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = value;
    visit(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = value;
    visit(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    visit(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    visit(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    visit(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    visit(a, b, c, d, e, f, g, h, i, j);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    visit(a, b, c, d, e, f, g, h, i, j, k);
  }
}

// Copied as it lies in memory: every byte of it counts.
template <typename T>
concept IsPlain =
    (std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>) ||
    std::is_floating_point_v<T>;
template <typename T>
concept IsOptional = requires { typename std::optional<typename T::value_type>; } &&
                     std::is_same_v<T, std::optional<typename T::value_type>>;
template <typename T>
concept IsRow = requires(const T& row) {  // a vector or text: its elements lie in a row
  row.data();
  requires requires(T& to) { to.resize(size_t{1}); };
};
template <typename T>
concept IsContainer = std::ranges::sized_range<T> && requires(T& all) { all.clear(); };
template <typename T>
concept IsMap = requires { typename T::mapped_type; };

}  // namespace internal

class ImageWriter {
 public:
  explicit ImageWriter(std::string& out) : out_(out) {}
  template <typename... Values>
  void operator()(const Values&... values) {
    (Write(values), ...);
  }

 private:
  template <typename T>
  void Write(const T& value);

  std::string& out_;
};

// Survives any bytes: after a read that does not fit, ok() is false. A value may then be anything.
class ImageReader {
 public:
  explicit ImageReader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  // All was read.
  bool AtEnd() const { return ok_ && in_.empty(); }
  std::string_view rest() const { return in_; }
  template <typename... Values>
  void operator()(Values&... values) {
    (Read(values), ...);
  }

 private:
  template <typename T>
  void Read(T& value);
  template <typename T>
  void TakeAll(T& container);
  void TakeBytes(void* to, size_t bytes) {
    ok_ = ok_ && bytes <= in_.size();
    if (!ok_ || bytes == 0) return;
    std::memcpy(to, in_.data(), bytes);
    in_.remove_prefix(bytes);
  }

  std::string_view in_;
  bool ok_ = true;
};

template <typename T>
void ImageWriter::Write(const T& value) {
  if constexpr (requires { T::Image(value, *this); }) {
    T::Image(value, *this);
  } else if constexpr (internal::IsPlain<T>) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  } else if constexpr (internal::IsOptional<T>) {
    Write(value.has_value());
    if (value) Write(*value);
  } else if constexpr (internal::IsContainer<T>) {
    Write(uint64_t{value.size()});
    if constexpr (internal::IsRow<T> && internal::IsPlain<std::ranges::range_value_t<T>>) {
      out_.append(reinterpret_cast<const char*>(value.data()),
                  value.size() * sizeof(*value.data()));
    } else {
      for (const auto& each : value) Write(each);
    }
  } else {
    internal::VisitMembers(value, *this);
  }
}

template <typename T>
void ImageReader::Read(T& value) {
  if constexpr (requires { T::Image(value, *this); }) {
    T::Image(value, *this);
  } else if constexpr (internal::IsPlain<T>) {
    TakeBytes(&value, sizeof(T));
  } else if constexpr (internal::IsOptional<T>) {
    bool some = false;
    Read(some);
    value.reset();
    if (!some || !ok_) return;
    typename T::value_type held{};
    Read(held);
    value.emplace(std::move(held));
  } else if constexpr (internal::IsContainer<T>) {
    TakeAll(value);
  } else {
    internal::VisitMembers(value, *this);
  }
}

template <typename T>
void ImageReader::TakeAll(T& container) {
  using Value = std::ranges::range_value_t<T>;
  uint64_t count = 0;
  Read(count);
  container.clear();
  if constexpr (internal::IsRow<T> && internal::IsPlain<Value>) {
    ok_ = ok_ && count <= in_.size() / sizeof(Value);
    if (!ok_) return;
    container.resize(count);
    TakeBytes(container.data(), count * sizeof(Value));
  } else {
    for (; count > 0 && ok_; --count) {
      if constexpr (internal::IsMap<T>) {
        typename T::key_type key{};
        Read(key);
        Read(container.emplace_hint(container.end(), std::move(key), typename T::mapped_type())
                 ->second);
      } else {
        Value value{};
        Read(value);
        container.insert(container.end(), std::move(value));
      }
    }
  }
}

}  // namespace spate
