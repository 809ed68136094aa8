// Values as bytes, for arguments and results on their way between a master and its slaves.
//
// Supported types: arithmetic types (but long double), enumerations, bool, std::complex,
// std::string, the standard containers, pairs, tuples, arrays, optionals, variants, durations and
// time points of std::chrono (but those of a steady clock, which mean nothing on another machine),
// std::filesystem::path, and structs of your own that say what they are made of by one member
// function:
//
//   struct trial {
//     double x = 0, y = 0;
//     std::vector<std::string> notes;
//     template <class Archive>
//     void serialize(Archive& archive) { archive(x, y, notes); }
//   };
//
// Types of others, which cannot get a member, have a function of two arguments instead, in their
// namespace or in spate::mw. `Archive::reads` tells whether it is to write the value or to read it:
//
//   template <class Archive>
//   void serialize(Archive& archive, vec3& v) { archive(v.x, v.y, v.z); }
//
// The same function writes, reads, and tells a program's types apart from another build's. Structs
// must be default-constructible. Numbers are little-endian and as wide as their type, lengths take
// 1 to 9 bytes, a vector of numbers is copied whole; std::string and std::vector<std::byte> are
// bytes as they are. The format is the same on all machines that Spate runs on.
//
// Thread: functions here share nothing.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace spate::mw {
inline namespace v1 {

static_assert(std::endian::native == std::endian::little);

// What goes wrong with bytes, tasks, or the work as a whole; what() says it for people.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class writer;
class reader;
class describer;

namespace detail {
class constant_value;  // of spate/mw.h
using constant_list = std::vector<std::shared_ptr<constant_value>>;
}  // namespace detail

// Structs within structs, at most: what holds its own kind (a tree) must not be deeper.
inline constexpr int kDepthMost = 1000;

namespace detail {

template <class T>
concept has_member_serialize = requires(T& value, writer& to) { value.serialize(to); };
template <class T>
concept has_free_serialize = requires(T& value, writer& to) { serialize(to, value); };

}  // namespace detail

// A struct with `serialize(Archive&)`, or for which there is a function `serialize(Archive&, T&)`.
template <class T>
concept serializable_struct =
    std::is_class_v<T> && (detail::has_member_serialize<T> || detail::has_free_serialize<T>);

namespace detail {

template <class Archive, class T>
void serialize_struct(Archive& archive, T& value) {
  if constexpr (has_member_serialize<T>) {
    value.serialize(archive);
  } else {
    serialize(archive, value);
  }
}

template <class T>
inline constexpr bool always_false = false;

// std::complex and std::filesystem::path by what they have: their headers are large.
template <class T>
concept complex_like = std::is_trivially_copyable_v<T> && requires(const T& value) {
  typename T::value_type;
  requires std::floating_point<typename T::value_type>;
  requires !std::same_as<typename T::value_type, long double>;
  requires sizeof(T) == 2 * sizeof(typename T::value_type);
  { value.real() } -> std::same_as<typename T::value_type>;
  { value.imag() } -> std::same_as<typename T::value_type>;
};
template <class T>
concept path_like = requires(const T& value) {
  T::preferred_separator;
  { value.native() } -> std::same_as<const std::string&>;
};

template <class T>
struct is_duration : std::false_type {};
template <class Rep, class Period>
struct is_duration<std::chrono::duration<Rep, Period>> : std::true_type {};
template <class T>
struct is_time_point : std::false_type {};
template <class Clock, class Duration>
struct is_time_point<std::chrono::time_point<Clock, Duration>> : std::true_type {
  static constexpr bool is_steady = [] {
    if constexpr (requires { Clock::is_steady; }) return Clock::is_steady;
    return false;
  }();
  static_assert(!is_steady, "a time of a steady clock means nothing on another machine");
};

template <class T>
concept number =
    ((std::is_arithmetic_v<T> || std::is_enum_v<T>) && !std::same_as<T, long double>) ||
    complex_like<T>;

template <class T>
concept byte_string = std::same_as<T, std::string> || std::same_as<T, std::vector<std::byte>>;

template <class T>
concept optional_like = std::same_as<T, std::optional<typename T::value_type>>;

template <class T>
concept tuple_like = requires { std::tuple_size<T>::value; };

template <class T>
concept container = std::ranges::range<T> && requires(T c) {
  typename T::value_type;
  c.size();
  c.clear();
};

// Contiguous numbers: one copy.
template <class T>
concept number_block =
    container<T> && std::ranges::contiguous_range<T> && number<typename T::value_type> &&
    !std::same_as<typename T::value_type, bool> && !serializable_struct<T>;

template <class T>
struct is_variant : std::false_type {};
template <class... T>
struct is_variant<std::variant<T...>> : std::true_type {};

// What a container holds, without the `const` of a map's keys.
template <class T>
struct plain {
  using type = std::remove_cv_t<T>;
};
template <class K, class V>
struct plain<std::pair<const K, V>> {
  using type = std::pair<K, V>;
};

}  // namespace detail

// Appends values to bytes.
class writer {
 public:
  static constexpr bool reads = false;
  writer() = default;
  // Behind these.
  explicit writer(std::string bytes) : bytes_(std::move(bytes)) {}
  void reserve(std::size_t size) { bytes_.reserve(size); }

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  void length(std::uint64_t n) {
    if (n < 0xff) {
      bytes_.push_back(static_cast<char>(n));
    } else {
      bytes_.push_back(static_cast<char>(0xff));
      raw(&n, sizeof n);
    }
  }
  void raw(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
  }
  std::string take() { return std::move(bytes_); }
  // Of spate/mw.h: the constants among the values.
  void names(std::shared_ptr<detail::constant_value> constant) {
    constants_.push_back(std::move(constant));
  }
  detail::constant_list take_constants() { return std::move(constants_); }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (detail::number<T>) {
      raw(&value, sizeof value);
    } else if constexpr (detail::byte_string<T> || detail::number_block<T>) {
      length(value.size());
      raw(value.data(), value.size() * sizeof(*value.data()));
    } else if constexpr (std::same_as<T, std::monostate>) {
      length(0);
    } else if constexpr (detail::is_variant<T>::value) {
      if (value.valueless_by_exception()) throw error("a variant without a value has no bytes");
      length(value.index());
      std::visit([this](const auto& each) { this->put(each); }, value);
    } else if constexpr (serializable_struct<T>) {
      if (++depth_ > kDepthMost) throw error("the value has too many structs within structs");
      length(0);                                               // so that nothing takes no bytes
      detail::serialize_struct(*this, const_cast<T&>(value));  // which only reads it then
      --depth_;
    } else if constexpr (detail::is_duration<T>::value) {
      put(value.count());
    } else if constexpr (detail::is_time_point<T>::value) {
      put(value.time_since_epoch());
    } else if constexpr (detail::path_like<T>) {
      put(value.native());
    } else if constexpr (detail::container<T>) {
      length(value.size());
      for (const auto& each : value) put(static_cast<const typename T::value_type&>(each));
    } else if constexpr (detail::tuple_like<T>) {
      std::apply([this](const auto&... each) { (this->put(each), ...); }, value);
    } else if constexpr (detail::optional_like<T>) {
      length(value ? 1 : 0);
      if (value) put(*value);
    } else {
      static_assert(detail::always_false<T>, "no bytes for this type: give it serialize");
    }
  }

  std::string bytes_;
  detail::constant_list constants_;
  int depth_ = 0;
};

// Takes values from bytes, which must outlive it. Throws `error` where they are not what was
// written; whatever they are, no more memory is taken than a small multiple of their length.
class reader {
 public:
  static constexpr bool reads = true;
  explicit reader(std::string_view bytes) : rest_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  std::uint64_t length() {
    const auto first = static_cast<unsigned char>(*need(1));
    if (first < 0xff) return first;
    std::uint64_t n = 0;
    std::memcpy(&n, need(sizeof n), sizeof n);
    return n;
  }
  // The next bytes, where they lie.
  std::string_view raw(std::uint64_t size) { return {need(size), static_cast<std::size_t>(size)}; }
  bool empty() const { return rest_.empty(); }
  // All bytes have been read; fewer or more are not those of one value.
  void finish() const {
    if (!rest_.empty()) throw error("there are more bytes than the value has");
  }

 private:
  const char* need(std::uint64_t size) {
    if (size > rest_.size()) throw error("there are fewer bytes than the value has");
    const char* at = rest_.data();
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return at;
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = *need(1) != 0;
    } else if constexpr (detail::number<T>) {
      std::memcpy(&value, need(sizeof value), sizeof value);
    } else if constexpr (detail::byte_string<T> || detail::number_block<T>) {
      constexpr std::size_t each = sizeof(*value.data());
      const std::uint64_t n = length();
      if (n > rest_.size() / each) throw error("there are fewer bytes than the value has");
      value.resize(static_cast<std::size_t>(n));
      if (n > 0) std::memcpy(value.data(), need(n * each), static_cast<std::size_t>(n) * each);
    } else if constexpr (std::same_as<T, std::monostate>) {
      (void)length();
    } else if constexpr (detail::is_variant<T>::value) {
      get_variant(value, length(), std::make_index_sequence<std::variant_size_v<T>>());
    } else if constexpr (serializable_struct<T>) {
      if (++depth_ > kDepthMost) throw error("the value has too many structs within structs");
      (void)length();
      detail::serialize_struct(*this, value);
      --depth_;
    } else if constexpr (detail::is_duration<T>::value) {
      typename T::rep count{};
      get(count);
      value = T(count);
    } else if constexpr (detail::is_time_point<T>::value) {
      typename T::duration since{};
      get(since);
      value = T(since);
    } else if constexpr (detail::path_like<T>) {
      std::string text;
      get(text);
      value = T(std::move(text));
    } else if constexpr (detail::container<T>) {
      get_container(value);
    } else if constexpr (detail::tuple_like<T>) {
      std::apply([this](auto&... each) { (this->get(each), ...); }, value);
    } else if constexpr (detail::optional_like<T>) {
      value.reset();
      if (length() != 0) get(value.emplace());
    } else {
      static_assert(detail::always_false<T>, "no bytes for this type: give it serialize");
    }
  }
  template <class T>
  void get_container(T& value) {
    const std::uint64_t n = length();
    if (n > rest_.size()) throw error("there are fewer bytes than the value has");
    value.clear();
    for (std::uint64_t i = 0; i < n; ++i) {
      typename detail::plain<typename T::value_type>::type each{};
      get(each);
      if constexpr (requires { value.push_back(std::move(each)); }) {
        value.push_back(std::move(each));
      } else {
        value.insert(value.end(), std::move(each));
      }
    }
  }
  template <class T, std::size_t... I>
  void get_variant(T& value, std::uint64_t index, std::index_sequence<I...>) {
    const bool known = ((I == index && (get(value.template emplace<I>()), true)) || ...);
    if (!known) throw error("a variant has no such alternative");
  }

  std::string_view rest_;
  int depth_ = 0;
};

// The structure of types in words, such as "(i32,[str])": equal for the same bytes, whatever the
// types are called.
class describer {
 public:
  static constexpr bool reads = false;

  template <class... T>
  void operator()(const T&...) {
    (add<T>(), ...);
  }
  template <class T>
  void add() {
    if (!text_.empty() && text_.back() != '(' && text_.back() != '[') text_ += ',';
    if constexpr (std::is_void_v<T>) {
      text_ += "void";
    } else if constexpr (std::same_as<T, bool>) {
      text_ += "bool";
    } else if constexpr (std::is_enum_v<T>) {
      add_number<std::underlying_type_t<T>>();
    } else if constexpr (detail::complex_like<T>) {
      using part = typename T::value_type;
      add_tuple<std::pair<part, part>>(std::make_index_sequence<2>());
    } else if constexpr (detail::number<T>) {
      add_number<T>();
    } else if constexpr (detail::byte_string<T>) {
      text_ += "str";
    } else if constexpr (std::same_as<T, std::monostate>) {
      text_ += "none";
    } else if constexpr (detail::is_variant<T>::value) {
      text_ += "one_of";
      add_all<T>(std::make_index_sequence<std::variant_size_v<T>>());
    } else if constexpr (serializable_struct<T>) {
      add_struct<T>();
    } else if constexpr (detail::is_duration<T>::value) {
      // Of the same bytes another period would be another time.
      text_ += "every(" + std::to_string(T::period::num) + "/" + std::to_string(T::period::den);
      add<typename T::rep>();
      text_ += ')';
    } else if constexpr (detail::is_time_point<T>::value) {
      text_ += "since(";
      add<typename T::duration>();
      text_ += ')';
    } else if constexpr (detail::path_like<T>) {
      text_ += "str";
    } else if constexpr (detail::container<T>) {
      text_ += '[';
      add<typename detail::plain<typename T::value_type>::type>();
      text_ += ']';
    } else if constexpr (detail::tuple_like<T>) {
      add_tuple<T>(std::make_index_sequence<std::tuple_size_v<T>>());
    } else if constexpr (detail::optional_like<T>) {
      text_ += "maybe(";
      add<typename T::value_type>();
      text_ += ')';
    } else {
      static_assert(detail::always_false<T>, "no bytes for this type: give it serialize");
    }
  }
  std::string take() { return std::move(text_); }

 private:
  template <class T>
  void add_number() {
    text_ += std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
    text_ += std::to_string(sizeof(T) * 8);
  }
  template <class T, std::size_t... I>
  void add_all(std::index_sequence<I...>) {
    text_ += '(';
    (add<std::variant_alternative_t<I, T>>(), ...);
    text_ += ')';
  }
  template <class T, std::size_t... I>
  void add_tuple(std::index_sequence<I...>) {
    text_ += '(';
    (add<std::remove_cv_t<std::tuple_element_t<I, T>>>(), ...);
    text_ += ')';
  }
  // One that holds others of its kind (a tree) would never end.
  template <class T>
  void add_struct() {
    static thread_local int depth = 0;
    if (depth >= 8) {
      text_ += "...";
      return;
    }
    ++depth;
    text_ += '{';
    text_ += '(';
    T value{};
    detail::serialize_struct(*this, value);
    text_ += ")}";
    --depth;
  }

  std::string text_;
};

// The bytes of some values, one after the other.
template <class... T>
std::string encode(const T&... values) {
  writer to;
  to(values...);
  return to.take();
}

// The value that `bytes` are; throws `error` when they are something else.
template <class T>
T decode(std::string_view bytes) {
  T value{};
  reader from(bytes);
  from(value);
  from.finish();
  return value;
}

}  // namespace v1
}  // namespace spate::mw
