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
//   vector of numbers            packed; each in a field of its own is understood, too
//   vector of texts              length and bytes: field 1 has their lengths, packed, and field 2
//                                all their bytes end to end
//   other vector                 the field once for each element
//   pointer                      as optional
//   optional of a vector         length and bytes, of a message whose field 1 is the vector
//   OrNever                      that of a Duration
//   Columns                      a field for each of the element's: texts, or packed varints
//   Packed                       packed varints of all elements' fields
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
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
#include "base/time.h"
#include "core/model/fields.h"

namespace spate {

// The text's beginning with " ..." behind it, `most` bytes together; the text when it is no longer.
std::string CutText(std::string_view text, uint64_t most);

// An enum of which newer programs may say values that we do not know: UnknownOf(E) stands for them.
template <typename E>
concept HasUnknown = requires { UnknownOf(E()); };

namespace internal {

enum class Bits : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

void AppendLongVarint(std::string& out, uint64_t value);
inline void AppendVarint(std::string& out, uint64_t value) {
  if (value >= 0x80) return AppendLongVarint(out, value);
  out += static_cast<char>(value);
}
constexpr uint64_t Zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t Unzigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// A number as its varint has it.
constexpr uint64_t VarintOf(std::unsigned_integral auto value) { return value; }
constexpr uint64_t VarintOf(std::signed_integral auto value) { return Zigzag(value); }
template <typename E>
  requires std::is_enum_v<E>
constexpr uint64_t VarintOf(E value) {
  return static_cast<uint64_t>(value);
}
template <typename Tag, typename Rep>
constexpr uint64_t VarintOf(Id<Tag, Rep> id) {
  return id.value;
}
constexpr uint64_t VarintOf(Duration time) { return static_cast<uint64_t>(time.ns); }
constexpr uint64_t VarintOf(Instant time) { return Zigzag(time.ns); }
template <typename T>
concept HasVarint = requires(const T& value) { VarintOf(value); };

// One field as it stands in the bytes.
struct RawField {
  uint32_t number = 0;
  Bits bits = Bits::kVarint;
  uint64_t value = 0;      // of a varint or 64 bits
  std::string_view bytes;  // of a length
  bool again = false;      // not the first one with its number, below 64
};
// Takes the first one off `rest`, which is not empty. False: it is no field.
bool DecodeField(std::string_view& rest, RawField& field);
bool DecodeLongVarint(std::string_view& rest, uint64_t& value);
inline bool DecodeVarint(std::string_view& rest, uint64_t& value) {
  if (rest.empty() || static_cast<uint8_t>(rest.front()) >= 0x80) {
    return DecodeLongVarint(rest, value);
  }
  value = static_cast<uint8_t>(rest.front());
  rest.remove_prefix(1);
  return true;
}
// How many there are: as many as bytes that end one.
size_t CountVarints(std::string_view bytes);

// Sets fields to zero: the meaning of a missing field where zeros are left out.
struct SetZero {
  template <typename T>
  void operator()(uint32_t, std::string_view, T& value) {
    value = T();
    if constexpr (LeavesOutZeros<T>) T::Fields(value, *this);
  }
  template <typename List>
  void operator()(uint32_t, std::string_view, Columns<List>&& columns) {
    columns.rows.clear();
  }
  template <typename List>
  void operator()(uint32_t, std::string_view, Packed<List>&& packed) {
    packed.rows.clear();
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
    if (!leaves_out_zeros_ || !IsZero(value)) Append(number, value);
  }
  void operator()(uint32_t number, std::string_view name, const std::string& text,
                  const Bounds& bounds) {
    const bool cuts = bounds.cut && text.size() > bounds.most;
    (*this)(number, name, cuts ? CutText(text, bounds.most) : text);
  }
  template <typename T>
  static void Write(std::string& out, const T& value) {
    T::Fields(value, FieldWriter(out, LeavesOutZeros<T>));
  }
  // A message of one field, which is this.
  template <typename T>
  static void WriteIn(std::string& out, uint32_t number, const T& value) {
    FieldWriter(out, false).Append(number, value);
  }

 private:
  template <typename T>
  static bool IsZero(const T& value) {
    if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else if constexpr (HasVarint<T>) {
      return VarintOf(value) == 0;
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<uint64_t>(value) == 0;
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

    template <HasVarint T>
    void Add(T value) {
      AppendVarint(numbers, VarintOf(value));
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
  // The bytes that `append` appends, with their length in front; which moves them, unless the guess
  // was right about the bytes that the length takes.
  template <typename Append>
  void PutLength(uint32_t number, Append append, size_t guess = 0) {
    Tag(number, Bits::kLength);
    const size_t begin = out_.size();
    AppendVarint(out_, guess);
    const size_t body = out_.size();
    append();
    SetLength(begin, body);
  }
  void SetLength(size_t begin, size_t body);
  // Sums the bytes of texts, which are the bulk of long messages.
  struct TextBytes {
    size_t& sum;
    void operator()(uint32_t, std::string_view, const std::string& text) { sum += text.size(); }
    void operator()(uint32_t, std::string_view, const std::vector<std::string>& texts) {
      for (const std::string& text : texts) sum += text.size() + 1;
    }
    template <typename T>
    void operator()(uint32_t, std::string_view, const T&) {}
  };

  template <HasVarint T>
  void Append(uint32_t number, T value) {
    PutVarint(number, VarintOf(value));
  }
  void Append(uint32_t number, double value) { PutDouble(number, value); }
  void Append(uint32_t number, std::string_view text) { PutText(number, text); }
  template <HasFields T>
  void Append(uint32_t number, const T& value) {
    size_t guess = 0;
    T::Fields(value, TextBytes{guess});
    PutLength(number, [&] { Write(out_, value); }, guess);
  }
  template <typename T>
  void Append(uint32_t number, const std::optional<T>& value) {
    if (value) Append(number, *value);
  }
  template <typename T>
  void Append(uint32_t number, const std::shared_ptr<T>& value) {
    if (value) Append(number, *value);
  }
  template <typename T>
  void Append(uint32_t number, const std::vector<T>& values) {
    if constexpr (HasVarint<T>) {
      if (values.empty()) return;
      PutLength(number, [&] {
        for (const T& value : values) AppendVarint(out_, VarintOf(value));
      });
    } else {
      for (const T& value : values) Append(number, value);
    }
  }
  void Append(uint32_t number, const std::vector<std::string>& texts);
  template <typename T>
  void Append(uint32_t number, const std::optional<std::vector<T>>& values) {
    if (values) PutLength(number, [&] { FieldWriter(out_, false).Append(1, *values); });
  }
  template <typename List>
  void Append(uint32_t number, Packed<List> of) {
    if (of.rows.empty()) return;
    PutLength(number, [&] {
      auto append = [&](uint32_t, std::string_view, const auto& value) {
        AppendVarint(out_, VarintOf(value));
      };
      for (const auto& row : of.rows) row.Fields(row, append);
    });
  }
  template <typename T>
  void Append(uint32_t number, OneMore<T> one) {
    if (one.value != -1) PutVarint(number, static_cast<uint64_t>(one.value + 1));
  }
  template <typename T>
  void Append(uint32_t number, OrNever<T> time) {
    Append(number, time.value);
  }
  template <typename List>
  void Append(uint32_t number, Columns<List> of) {
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
    uint64_t seen = 0;  // of the fields 1 to 63
    while (!bytes.empty() && ok()) {
      RawField field;
      if (!DecodeField(bytes, field)) return Defect("", "is cut off");
      const uint64_t bit = field.number < 64 ? uint64_t{1} << field.number : 0;
      field.again = (seen & bit) != 0;
      seen |= bit;
      T::Fields(to, Matching{*this, field});
    }
    if (ok()) T::Fields(to, Missing{*this, seen});
  }
  bool ok() const { return what_.empty(); }
  std::string defect() const;
  // The field with the defect ("settings.cwd"; empty: the message), and what it is: "is out of
  // range".
  std::string_view path() const;
  const std::string& what() const { return what_; }

 private:
  struct Matching {
    FieldParser& parser;
    const RawField& field;
    template <typename T>
    void operator()(uint32_t number, std::string_view name, T&& value) {
      if (number != field.number) return;
      parser.Parse(name, field, value);
      parser.CheckOnce<std::remove_cvref_t<T>>(name, field);
    }
    template <typename List>
    void operator()(uint32_t number, std::string_view name, Columns<List>&& columns) {
      if (number <= field.number) parser.DecodeColumn(name, field, number, columns.rows);
    }
    template <typename List>
    void operator()(uint32_t number, std::string_view name, Packed<List>&& packed) {
      if (number != field.number) return;
      parser.DecodeRows(name, field, packed.rows);
      parser.CheckOnce<Packed<List>>(name, field);
    }
    // A list is bounded before the rest of it is read.
    template <typename T>
    void operator()(uint32_t number, std::string_view name, std::vector<T>& list,
                    const Bounds& bounds) {
      (*this)(number, name, list);
      if (list.size() > bounds.count) parser.Defect(name, "has too many ", bounds.of);
    }
  };
  // A message within this one must be there, and of columns all or none.
  struct Missing {
    FieldParser& parser;
    const uint64_t seen;
    template <typename T>
    void operator()(uint32_t, std::string_view, T&&) {}
    template <HasFields T>
    void operator()(uint32_t number, std::string_view name, T&, const Bounds& bounds) {
      if (bounds.must && !Has(number)) parser.Defect(name, "is missing");
    }
    template <typename List>
    void operator()(uint32_t number, std::string_view name, Columns<List>&& columns,
                    const Bounds&) {
      if (columns.rows.empty()) return;
      List::value_type::Fields(columns.rows[0], [&](uint32_t nth, std::string_view, auto&&) {
        if (!Has(number + nth - 1)) parser.Defect(name, "is not one for each");
      });
    }
    bool Has(uint32_t number) const { return (seen >> number & 1) != 0; }
  };
  void Defect(std::string_view field, std::string_view what, std::string_view of = "");
  // Only elements of a list may come several times.
  template <typename T>
  void CheckOnce(std::string_view name, const RawField& field) {
    constexpr bool kRepeats = IsList<T>::value && !std::is_same_v<T, std::vector<std::string>>;
    if (field.again && !kRepeats) Defect(name, "occurs twice");
  }
  template <typename T>
  struct IsList : std::false_type {};
  template <typename T>
  struct IsList<std::vector<T>> : std::true_type {};
  bool Is(std::string_view name, const RawField& field, Bits bits) {
    if (field.bits != bits) Defect(name, "is of another type");
    return field.bits == bits;
  }

  template <std::unsigned_integral T>
  void Parse(std::string_view name, const RawField& field, T& to) {
    if (!Is(name, field, Bits::kVarint)) return;
    if (field.value > std::numeric_limits<T>::max()) return Defect(name, "is out of range");
    to = static_cast<T>(field.value);
  }
  template <std::signed_integral T>
  void Parse(std::string_view name, const RawField& field, T& to) {
    if (!Is(name, field, Bits::kVarint)) return;
    int64_t value = Unzigzag(field.value);
    bool fits = value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
    if (!fits) return Defect(name, "is out of range");
    to = static_cast<T>(value);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Parse(std::string_view name, const RawField& field, E& to) {
    if (!Is(name, field, Bits::kVarint)) return;
    if (auto known = FromNumber<E>(field.value)) {
      to = *known;
    } else if constexpr (HasUnknown<E>) {
      to = UnknownOf(E());
    } else {
      Defect(name, "is out of range");
    }
  }
  template <typename Tag, typename Rep>
  void Parse(std::string_view name, const RawField& field, Id<Tag, Rep>& to) {
    Parse(name, field, to.value);
  }
  void Parse(std::string_view name, const RawField& field, Duration& to) {
    uint64_t ns = 0;
    Parse(name, field, ns);
    if (ns > static_cast<uint64_t>(longest_.ns)) return Defect(name, "is out of range");
    to.ns = static_cast<int64_t>(ns);
  }
  template <typename T>
  void Parse(std::string_view name, const RawField& field, OneMore<T>& to) {
    uint32_t one_more = 0;
    Parse(name, field, one_more);
    if (one_more > kMostOneMore) return Defect(name, "is out of range");
    to.value = static_cast<T>(one_more) - 1;
  }
  template <typename T>
  void Parse(std::string_view name, const RawField& field, OrNever<T>& to) {
    const bool never = field.value == static_cast<uint64_t>(Duration::Max().ns);
    if (never && Is(name, field, Bits::kVarint)) to.value = Duration::Max();
    if (!never) Parse(name, field, to.value);
  }
  void Parse(std::string_view name, const RawField& field, Instant& to) {
    Parse(name, field, to.ns);
  }
  void Parse(std::string_view name, const RawField& field, double& to) {
    if (Is(name, field, Bits::kFixed64)) to = std::bit_cast<double>(field.value);
  }
  void Parse(std::string_view name, const RawField& field, std::string& to) {
    if (Is(name, field, Bits::kLength)) to = field.bytes;
  }
  // Points into what was read.
  void Parse(std::string_view name, const RawField& field, std::string_view& to) {
    if (Is(name, field, Bits::kLength)) to = field.bytes;
  }
  template <HasFields T>
  void Parse(std::string_view name, const RawField& field, T& to) {
    if (!Is(name, field, Bits::kLength)) return;
    Read(field.bytes, to);
    if (!ok()) path_.insert(0, ".").insert(0, name);
  }
  template <typename T>
  void Parse(std::string_view name, const RawField& field, std::shared_ptr<const T>& to) {
    auto made = std::make_shared<T>();
    Parse(name, field, *made);
    to = std::move(made);
  }
  template <typename T>
  void Parse(std::string_view name, const RawField& field, std::optional<T>& to) {
    Parse(name, field, to ? *to : to.emplace());
  }
  template <typename T>
  void Parse(std::string_view name, const RawField& field, std::optional<std::vector<T>>& to) {
    if (!Is(name, field, Bits::kLength)) return;
    to.emplace();
    std::string_view bytes = field.bytes;
    for (RawField element; !bytes.empty() && ok();) {
      if (!DecodeField(bytes, element)) return Defect(name, "is cut off");
      if (element.number == 1) Parse(name, element, *to);
    }
  }
  template <typename T>
  void Parse(std::string_view name, const RawField& field, std::vector<T>& to) {
    if constexpr (HasVarint<T>) {
      if (field.bits == Bits::kLength) return TakePacked(name, field.bytes, to);
    }
    if (elements_ == most_elements_) return Defect(name, "makes the message too long");
    ++elements_;
    Parse(name, field, to.emplace_back());
  }
  // Numbers take at most eight times their bytes, so they do not count as elements.
  template <typename T>
  void TakePacked(std::string_view name, std::string_view bytes, std::vector<T>& to) {
    if (to.empty()) to.reserve(CountVarints(bytes));  // each time, it would copy all each time
    for (RawField number; !bytes.empty() && ok();) {
      if (!DecodeVarint(bytes, number.value)) return Defect(name, "is cut off");
      Parse(name, number, to.emplace_back());
    }
  }
  void Parse(std::string_view name, const RawField& field, std::vector<std::string>& to);
  void SplitTexts(std::string_view name, std::string_view message, std::string_view& lengths,
                  std::string_view& bytes);

  template <typename Row>
  void DecodeRows(std::string_view name, const RawField& field, std::vector<Row>& rows) {
    if (!Is(name, field, Bits::kLength)) return;
    RawField number;
    std::string_view rest = field.bytes;
    auto take = [&](uint32_t, std::string_view, auto& value) {
      if (rest.empty()) return Defect(name, "has half a pair");
      if (!DecodeVarint(rest, number.value)) return Defect(name, "is cut off");
      Parse(name, number, value);
    };
    while (!rest.empty() && ok()) {
      Row& row = rows.emplace_back();
      Row::Fields(row, take);
    }
  }

  // Adds to `rows` where it is the first column; the others have as many values.
  template <typename Row>
  void DecodeColumn(std::string_view name, const RawField& field, uint32_t first,
                    std::vector<Row>& rows) {
    Row none;
    Row::Fields(none, [&](uint32_t nth, std::string_view, auto& kind) {
      if (first + nth - 1 != field.number) return;
      std::vector<std::remove_cvref_t<decltype(kind)>> values;
      if (Is(name, field, Bits::kLength)) Parse(name, field, values);
      if (nth == 1) ResizeRows(name, rows, values.size());
      if (rows.size() != values.size()) return Defect(name, "is not one for each");
      for (size_t i = 0; i < rows.size(); ++i) SetNth(rows[i], nth, std::move(values[i]));
      CheckOnce<Columns<std::vector<Row>>>(name, field);
    });
  }
  template <typename Row>
  void ResizeRows(std::string_view name, std::vector<Row>& rows, size_t size) {
    constexpr size_t kSmall = 16;  // bytes, as many as its numbers may take
    if (sizeof(Row) > kSmall && size > most_elements_ - elements_) {
      return Defect(name, "makes the message too long");
    }
    if (sizeof(Row) > kSmall) elements_ += static_cast<uint32_t>(size);
    rows.resize(size);
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
  std::string field_;  // the innermost
  std::string path_;   // with a dot behind it, unless a field is at its end
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
