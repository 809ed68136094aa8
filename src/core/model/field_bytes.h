// The bytes of a type that lists its fields (core/model/fields.h), in the encoding of protobuf, so
// that programs of another version skip what they do not know and leave alone what is not there.
// For what programs send to each other (wire/field_bytes.h), settings, and records of the journal:
//
//   bool, unsigned, enum, id     varint
//   Duration                     varint, nanoseconds, never less than 0
//   signed, Instant              varint, zigzag (sint64; of instants nanoseconds)
//   double                       64 bits, little endian
//   text, a type with fields     length and bytes
//   optional                     left out when it has no value
//   vector of texts              a Texts of spate.proto: lengths, and all bytes end to end
//   other vector                 the field once for each element, not packed
//   optional of a vector         length and bytes, of a message whose field 1 is the vector
//   OrNever                      that of a Duration
//   Columns                      a field for each of the element's: Texts, or packed varints
#pragma once

#include <array>
#include <bit>
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
#include "base/result.h"
#include "base/time.h"
#include "core/model/fields.h"

namespace spate {

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
bool DecodeField(std::string_view& rest, RawField& field);
bool DecodeVarint(std::string_view& rest, uint64_t& value);

// Sets fields to zero: the meaning of a missing field where zeros are left out.
struct SetZero {
  template <typename T>
  void operator()(uint32_t, std::string_view, T& value) {
    value = T();
  }
  template <typename List>
  void operator()(uint32_t, std::string_view, Columns<List>&& columns) {
    columns.rows.clear();
  }
  template <typename T>
  void operator()(uint32_t, std::string_view, OneMore<T>&& number) {
    number.value = -1;
  }
  template <typename T>
  void operator()(uint32_t, std::string_view, OrNever<T>&& time) {
    time.value = {};
  }
};

// The same for fields of fields.
struct SetAllZero {
  template <typename T>
  void operator()(uint32_t number, std::string_view name, T&& field) {
    if constexpr (HasFields<std::remove_cvref_t<T>>) {
      std::remove_cvref_t<T>::Fields(field, *this);
    } else {
      SetZero()(number, name, std::forward<T>(field));
    }
  }
};

class FieldWriter {
 public:
  FieldWriter(std::string& out, bool leaves_out_zeros)
      : out_(out), leaves_out_zeros_(leaves_out_zeros) {}

  template <typename T>
  void operator()(uint32_t number, std::string_view, const T& value) {
    if (!leaves_out_zeros_ || !IsZero(value)) Put(number, value);
  }
  template <typename T>
  static void Write(std::string& out, const T& value) {
    T::Fields(value, FieldWriter(out, LeavesOutZeros<T>));
  }

 private:
  template <typename T>
  static bool IsZero(const T& value) {
    if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else if constexpr (std::is_scalar_v<T> || std::is_same_v<T, Duration>) {
      return value == T();
    } else {
      return false;
    }
  }
  static constexpr size_t kMostColumns = 4;
  // A column: numbers, or the lengths of texts and their bytes.
  struct Column {
    uint32_t number = 0;
    bool is_text = false;
    std::string numbers;
    std::string bytes;

    template <std::unsigned_integral T>
    void Add(T value) {
      AppendVarint(numbers, value);
    }
    void Add(std::string_view text);
  };

  void Tag(uint32_t number, Bits bits) {
    AppendVarint(out_, uint64_t{number} << 3 | static_cast<uint64_t>(bits));
  }
  void PutVarint(uint32_t number, uint64_t value) {
    Tag(number, Bits::kVarint);
    AppendVarint(out_, value);
  }
  void PutText(uint32_t number, std::string_view text);
  void PutTexts(uint32_t number, std::string_view lengths, std::string_view bytes);
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
  void Put(uint32_t number, Duration time) { PutVarint(number, static_cast<uint64_t>(time.ns)); }
  void Put(uint32_t number, Instant time) { PutVarint(number, Zigzag(time.ns)); }
  void Put(uint32_t number, double value) { PutDouble(number, value); }
  void Put(uint32_t number, std::string_view text) { PutText(number, text); }
  template <HasFields T>
  void Put(uint32_t number, const T& value) {
    std::string inner;
    Write(inner, value);
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
  void Put(uint32_t number, const std::vector<std::string>& texts);
  template <typename T>
  void Put(uint32_t number, const std::optional<std::vector<T>>& values) {
    if (!values) return;
    std::string inner;
    FieldWriter(inner, false).Put(1, *values);
    PutText(number, inner);
  }
  template <typename T>
  void Put(uint32_t number, OneMore<T> one) {
    if (one.value != -1) PutVarint(number, static_cast<uint64_t>(one.value + 1));
  }
  template <typename T>
  void Put(uint32_t number, OrNever<T> time) {
    Put(number, time.value);
  }
  template <typename List>
  void Put(uint32_t number, Columns<List> of) {
    std::array<Column, kMostColumns> columns;
    for (const auto& row : of.rows) {
      auto column = columns.begin();
      row.Fields(row, [&](uint32_t nth, std::string_view, const auto& value) {
        column->number = number + nth - 1;
        column++->Add(value);
      });
    }
    for (const Column& column : columns) PutColumn(column);
  }
  void PutColumn(const Column& column);

  std::string& out_;
  const bool leaves_out_zeros_;
};

// Parses one message with all that is in it.
class FieldParser {
 public:
  // `most_elements` of all lists together.
  FieldParser(uint32_t most_elements, Duration longest)
      : most_elements_(most_elements), longest_(longest) {}

  template <HasFields T>
  void Read(std::string_view bytes, T& to) {
    if constexpr (LeavesOutZeros<T>) T::Fields(to, SetZero());
    if constexpr (requires { T::kReadFromZeros; }) T::Fields(to, SetAllZero());
    while (!bytes.empty() && ok()) {
      RawField field;
      if (!DecodeField(bytes, field)) return Defect("", "is cut off");
      T::Fields(to, Matching{*this, field});
    }
  }
  bool ok() const { return what_.empty(); }
  std::string defect() const;
  // The field with the defect (empty: the message), and what it is: "is out of range".
  const std::string& field() const { return field_; }
  const std::string& what() const { return what_; }

 private:
  struct Matching {
    FieldParser& parser;
    const RawField& field;
    template <typename T>
    void operator()(uint32_t number, std::string_view name, T&& value) {
      if (number == field.number) parser.Take(name, field, value);
    }
    template <typename List>
    void operator()(uint32_t number, std::string_view name, Columns<List>&& columns) {
      if (number <= field.number) parser.DecodeColumn(name, field, number, columns.rows);
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
    uint64_t ns = 0;
    Take(name, field, ns);
    if (ns > static_cast<uint64_t>(longest_.ns)) return Defect(name, "is out of range");
    to.ns = static_cast<int64_t>(ns);
  }
  template <typename T>
  void Take(std::string_view name, const RawField& field, OneMore<T>& to) {
    uint32_t one_more = 0;
    Take(name, field, one_more);
    if (one_more > kMostOneMore) return Defect(name, "is out of range");
    to.value = static_cast<T>(one_more) - 1;
  }
  template <typename T>
  void Take(std::string_view name, const RawField& field, OrNever<T>& to) {
    const bool never = field.value == static_cast<uint64_t>(Duration::Max().ns);
    if (never && Is(name, field, Bits::kVarint)) to.value = Duration::Max();
    if (!never) Take(name, field, to.value);
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
      if (!DecodeField(bytes, element)) return Defect(name, "is cut off");
      if (element.number == 1) Take(name, element, *to);
    }
  }
  template <typename T>
  void Take(std::string_view name, const RawField& field, std::vector<T>& to) {
    if (elements_++ == most_elements_) return Defect(name, "makes the message too long");
    Take(name, field, to.emplace_back());
  }
  void Take(std::string_view name, const RawField& field, std::vector<std::string>& to) {
    to = TextsOf(name, field);
  }
  std::vector<std::string> TextsOf(std::string_view name, const RawField& field);
  void SplitTexts(std::string_view name, std::string_view message, std::string_view& lengths,
                  std::string_view& bytes);

  // Adds to `rows` where it is the first column; the others have as many values.
  template <typename Row>
  void DecodeColumn(std::string_view name, const RawField& field, uint32_t first,
                    std::vector<Row>& rows) {
    Row none;
    Row::Fields(none, [&](uint32_t nth, std::string_view, auto& kind) {
      if (first + nth - 1 != field.number) return;
      auto values = ValuesOf(name, field, kind);
      if (nth == 1) rows.resize(values.size());
      if (rows.size() != values.size()) return Defect(name, "is not one for each");
      for (size_t i = 0; i < rows.size(); ++i) SetNth(rows[i], nth, std::move(values[i]));
    });
  }
  std::vector<std::string> ValuesOf(std::string_view name, const RawField& field, std::string&) {
    return TextsOf(name, field);
  }
  template <std::unsigned_integral T>
  std::vector<T> ValuesOf(std::string_view name, const RawField& field, T&) {
    std::vector<T> values;
    if (!Is(name, field, Bits::kLength)) return values;
    RawField number;
    for (std::string_view rest = field.bytes; !rest.empty() && ok();) {
      if (!DecodeVarint(rest, number.value)) Defect(name, "is cut off");
      if (elements_++ == most_elements_) Defect(name, "makes the message too long");
      Take(name, number, values.emplace_back());
    }
    return values;
  }
  template <typename Row, typename T>
  static void SetNth(Row& row, uint32_t nth, T&& value) {
    Row::Fields(row, [&](uint32_t number, std::string_view, auto& field) {
      if constexpr (std::is_same_v<decltype(field), std::remove_cvref_t<T>&>) {
        if (number == nth) field = std::forward<T>(value);
      }
    });
  }

  static constexpr uint32_t kMostOneMore = 1u << 30;
  const uint32_t most_elements_;
  const Duration longest_;
  std::string field_;
  std::string what_;
  uint32_t elements_ = 0;
};

}  // namespace internal

template <HasFields T>
void AppendBytes(std::string& out, const T& message) {
  internal::FieldWriter::Write(out, message);
}
template <HasFields T>
std::string BytesOf(const T& message) {
  std::string bytes;
  AppendBytes(bytes, message);
  return bytes;
}

// kCorrupt: they are none of a T, or have more elements, in all lists, or a longer time. `name` is
// for the error.
template <HasFields T>
Result<T> FromBytes(std::string_view name, std::string_view bytes, uint32_t most_elements,
                    Duration longest) {
  T message;
  internal::FieldParser parser(most_elements, longest);
  parser.Read(bytes, message);
  if (parser.ok()) return message;
  return Within(name, Error{ErrorKind::kCorrupt, parser.defect()});
}

}  // namespace spate
