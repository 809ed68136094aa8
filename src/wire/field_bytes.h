// The bytes of a type that lists its fields (core/model/fields.h), in the encoding of protobuf, so
// that programs of another version skip what they do not know and leave alone what is not there:
//
//   bool, unsigned, enum, id     varint
//   signed, Duration, Instant    varint, zigzag (sint64; of times nanoseconds)
//   double                       64 bits, little endian
//   text, a type with fields     length and bytes
//   optional                     left out when it has no value
//   vector                       the field once for each element, not packed
//   optional of a vector         length and bytes, of a message whose field 1 is the vector
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "wire/limits.h"

namespace spate::wire {

namespace internal {

enum class Bits : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2 };

void AppendVarint(std::string& out, uint64_t value);
inline uint64_t Zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t Unzigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// One field as it stands in the bytes.
struct RawField {
  uint32_t number = 0;
  Bits bits = Bits::kVarint;
  uint64_t value = 0;      // of a varint or 64 bits
  std::string_view bytes;  // of a length
};
// Takes the first one off `rest`, which is not empty. False: it is no field.
bool TakeField(std::string_view& rest, RawField& field);

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(uint32_t number, std::string_view, const T& value) {
    Put(number, value);
  }

 private:
  void Tag(uint32_t number, Bits bits) {
    AppendVarint(out_, uint64_t{number} << 3 | static_cast<uint64_t>(bits));
  }
  void PutVarint(uint32_t number, uint64_t value) {
    Tag(number, Bits::kVarint);
    AppendVarint(out_, value);
  }
  void PutText(uint32_t number, std::string_view text);
  void PutDouble(uint32_t number, double value);

  template <std::unsigned_integral T>
  void Put(uint32_t number, T value) {
    PutVarint(number, value);
  }
  template <std::signed_integral T>
  void Put(uint32_t number, T value) {
    PutVarint(number, Zigzag(value));
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Put(uint32_t number, E value) {
    PutVarint(number, static_cast<uint64_t>(value));
  }
  template <typename Tag, typename Rep>
  void Put(uint32_t number, Id<Tag, Rep> id) {
    PutVarint(number, id.value);
  }
  void Put(uint32_t number, Duration time) { PutVarint(number, Zigzag(time.ns)); }
  void Put(uint32_t number, Instant time) { PutVarint(number, Zigzag(time.ns)); }
  void Put(uint32_t number, double value) { PutDouble(number, value); }
  void Put(uint32_t number, std::string_view text) { PutText(number, text); }
  template <HasFields T>
  void Put(uint32_t number, const T& value) {
    std::string inner;
    T::Fields(value, FieldWriter(inner));
    PutText(number, inner);
  }
  template <typename T>
  void Put(uint32_t number, const std::optional<T>& value) {
    if (value) Put(number, *value);
  }
  template <typename T>
  void Put(uint32_t number, const std::vector<T>& values) {
    for (const T& value : values) Put(number, value);
  }
  template <typename T>
  void Put(uint32_t number, const std::optional<std::vector<T>>& values) {
    if (!values) return;
    std::string inner;
    FieldWriter(inner).Put(1, *values);
    PutText(number, inner);
  }

  std::string& out_;
};

// Of one message with all that is in it.
class FieldParser {
 public:
  // Elements of all lists: what one message of a stranger may cost in memory.
  static constexpr uint32_t kMostElements = 200'000;
  explicit FieldParser(uint32_t most_elements = kMostElements) : most_elements_(most_elements) {}

  template <HasFields T>
  void Read(std::string_view bytes, T& to) {
    while (!bytes.empty() && ok()) {
      RawField field;
      if (!TakeField(bytes, field)) return Defect("", "is cut off");
      T::Fields(to, Matching{*this, field});
    }
  }
  bool ok() const { return defect_.empty(); }
  const std::string& defect() const { return defect_; }

 private:
  struct Matching {
    FieldParser& parser;
    const RawField& field;
    template <typename T>
    void operator()(uint32_t number, std::string_view name, T& value) {
      if (number == field.number) parser.Take(name, field, value);
    }
  };
  void Defect(std::string_view field, std::string_view what);
  bool Is(std::string_view name, const RawField& field, Bits bits) {
    if (field.bits != bits) Defect(name, "is of another type");
    return field.bits == bits;
  }

  template <std::unsigned_integral T>
  void Take(std::string_view name, const RawField& field, T& to) {
    if (!Is(name, field, Bits::kVarint)) return;
    if (field.value > std::numeric_limits<T>::max()) return Defect(name, "is out of range");
    to = static_cast<T>(field.value);
  }
  template <std::signed_integral T>
  void Take(std::string_view name, const RawField& field, T& to) {
    if (!Is(name, field, Bits::kVarint)) return;
    int64_t value = Unzigzag(field.value);
    bool fits = value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
    if (!fits) return Defect(name, "is out of range");
    to = static_cast<T>(value);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Take(std::string_view name, const RawField& field, E& to) {
    if (!Is(name, field, Bits::kVarint)) return;
    if (field.value > static_cast<uint64_t>(kLastOf<E>)) return Defect(name, "is out of range");
    to = static_cast<E>(field.value);
  }
  template <typename Tag, typename Rep>
  void Take(std::string_view name, const RawField& field, Id<Tag, Rep>& to) {
    Take(name, field, to.value);
  }
  void Take(std::string_view name, const RawField& field, Duration& to) {
    Take(name, field, to.ns);
    if (to.ns < 0 || to > kWireLimits.longest) Defect(name, "is out of range");
  }
  void Take(std::string_view name, const RawField& field, Instant& to) { Take(name, field, to.ns); }
  void Take(std::string_view name, const RawField& field, double& to) {
    if (Is(name, field, Bits::kFixed64)) to = std::bit_cast<double>(field.value);
  }
  void Take(std::string_view name, const RawField& field, std::string& to) {
    if (Is(name, field, Bits::kLength)) to = field.bytes;
  }
  // Points into what was read.
  void Take(std::string_view name, const RawField& field, std::string_view& to) {
    if (Is(name, field, Bits::kLength)) to = field.bytes;
  }
  template <HasFields T>
  void Take(std::string_view name, const RawField& field, T& to) {
    if (Is(name, field, Bits::kLength)) Read(field.bytes, to);
  }
  template <typename T>
  void Take(std::string_view name, const RawField& field, std::optional<T>& to) {
    Take(name, field, to ? *to : to.emplace());
  }
  template <typename T>
  void Take(std::string_view name, const RawField& field, std::optional<std::vector<T>>& to) {
    if (!Is(name, field, Bits::kLength)) return;
    to.emplace();
    std::string_view bytes = field.bytes;
    for (RawField element; !bytes.empty() && ok();) {
      if (!TakeField(bytes, element)) return Defect(name, "is cut off");
      if (element.number == 1) Take(name, element, *to);
    }
  }
  template <typename T>
  void Take(std::string_view name, const RawField& field, std::vector<T>& to) {
    if (elements_++ == most_elements_) return Defect(name, "makes the message too long");
    Take(name, field, to.emplace_back());
  }

  const uint32_t most_elements_;
  std::string defect_;
  uint32_t elements_ = 0;
};

}  // namespace internal

template <HasFields T>
void AppendBytes(std::string& out, const T& message) {
  T::Fields(message, internal::FieldWriter(out));
}
template <HasFields T>
std::string BytesOf(const T& message) {
  std::string bytes;
  AppendBytes(bytes, message);
  return bytes;
}

// kCorrupt: they are none of a T, or have more elements than a message may; `name` is for the
// error.
template <HasFields T>
Result<T> FromBytes(std::string_view name, std::string_view bytes,
                    uint32_t most_elements = internal::FieldParser::kMostElements) {
  T message;
  internal::FieldParser parser(most_elements);
  parser.Read(bytes, message);
  if (parser.ok()) return message;
  return Within(name, Error{ErrorKind::kCorrupt, parser.defect()});
}

}  // namespace spate::wire
