// Common parts of the codecs: checks that remember the first defect, lists of texts, ranges, and
// the conversion between protobuf's messages and bytes.
#pragma once

#include <wire/spate.pb.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/job.h"
#include "wire/field_bytes.h"
#include "wire/limits.h"

namespace spate::wire {

template <typename T>
using PbColumn = google::protobuf::RepeatedField<T>;

// The reader of one message. After the first defect everything reads as something harmless, and
// ok() is false.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : message_(message) {}

  // Sets the message that prefixes the names of fields: "lease" for lease.rows.
  void Within(std::string_view message) { message_ = message; }
  // While it lives, fields stand in this one of the message: "settings" for lease.settings.cwd.
  class Inside {
   public:
    Inside(FieldReader& reader, std::string_view field) : reader_(reader) {
      reader.inside_ = field;
    }
    ~Inside() { reader_.inside_ = {}; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    FieldReader& reader_;
  };
  bool ok() const { return error_.empty(); }
  std::unexpected<Error> Failure() const { return spate::Fail(ErrorKind::kCorrupt, error_); }
  void Defect(std::string_view field, std::string_view what);

  // A number from `least` to `most`.
  template <typename To, typename From>
  To Number(std::string_view field, From v, std::type_identity_t<From> least,
            std::type_identity_t<From> most) {
    if (v < least || v > most) {
      Defect(field, "is out of range");
      v = least;
    }
    return static_cast<To>(v);
  }
  template <typename T>
  T Id(std::string_view field, uint32_t v) {
    using Rep = decltype(T().value);
    if (v == 0) Defect(field, "is missing");
    if (v > std::numeric_limits<Rep>::max()) Defect(field, "is out of range");
    return T(static_cast<Rep>(v));
  }
  Duration Time(std::string_view field, int64_t v) {
    return {Number<int64_t>(field, v, 0, kWireLimits.longest.ns)};
  }
  std::string Text(std::string_view field, const std::string& v, uint64_t most, bool must = false);
  std::vector<std::string> Texts(std::string_view field, const pb::Texts& v, uint64_t most,
                                 uint64_t most_count = kWireLimits.texts) {
    return Texts(field, v.length(), v.bytes(), most, most_count);
  }
  std::vector<std::string> Texts(std::string_view field, const PbColumn<uint32_t>& lengths,
                                 std::string_view bytes, uint64_t most, uint64_t most_count);
  // The same of the bytes of a pb::Texts, without a copy of all of them.
  std::vector<std::string> LongTexts(std::string_view field, std::string_view texts, uint64_t most,
                                     uint64_t most_count);
  // A type that lists its fields, in bytes of its own.
  template <HasFields T>
  T Fields(std::string_view field, std::string_view bytes) {
    auto read = FromBytes<T>(field, bytes);
    if (!read) Defect(field, "is damaged");
    return std::move(read).value_or(T());
  }
  // Their sum is at most `most_tasks`.
  std::vector<TaskRange> Ranges(std::string_view field, const PbColumn<uint32_t>& pairs,
                                uint32_t most_tasks);
  // Sorted, each once, none empty: as Needs and Offer promise it.
  void Sorted(std::string_view field, const std::vector<std::string>& names);

 private:
  std::string_view message_;
  std::string_view inside_;
  std::string error_;
};

void PutTexts(pb::Texts& to, const std::vector<std::string>& texts);
// A message of these texts as pb::Texts, behind `head` and before `tail`, which are fields of the
// same message: all of that as the field `outer` of another one.
void AppendLongTexts(std::string& out, uint32_t outer, std::string_view head, uint32_t number,
                     const std::vector<std::string>& texts, std::string_view tail);
void PutRanges(PbColumn<uint32_t>& to, const std::vector<TaskRange>& ranges);
// Text for people, cut to what the wire takes.
std::string Note(std::string_view text);

void AppendPb(std::string& out, const google::protobuf::MessageLite& message);
Status ParsePb(google::protobuf::MessageLite& to, std::string_view name, std::string_view bytes);

// Parses `bytes` as Pb and gives what `take(reader, pb)` makes of it, unless there was a defect.
template <typename T, typename Pb, typename Take>
Result<T> DecodePb(std::string_view name, std::string_view bytes, Take take) {
  Pb from;
  TRY(ParsePb(from, name, bytes));
  FieldReader in(name);
  T message = take(in, from);
  if (!in.ok()) return in.Failure();
  return message;
}

}  // namespace spate::wire
