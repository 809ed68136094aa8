// Messages as bytes, by the lists of their fields. One of several kinds is a message of one field,
// whose number is the kind's kNumber.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "core/model/field_bytes.h"
#include "wire/field_bytes.h"
#include "wire/message_check.h"
#include "wire/message_forms.h"

namespace spate::wire {

template <typename T>
void AppendMessage(std::string& out, const T& message) {
  AppendBytes(out, FormOf<T>::ToForm(message));
}
// `name` is what the names of fields begin with in an error. What was read is within the bounds of
// its fields.
template <typename T>
Result<T> DecodeMessage(std::string_view name, std::string_view bytes) {
  typename FormOf<T>::Type read;
  spate::internal::FieldParser parser(kMostElements, kWireLimits.longest);
  parser.Read(bytes, read);
  MessageCheck in(name);
  if (!parser.ok()) in.Defect(parser.path(), parser.what());
  if (in.ok()) in.Fields(read);
  T message = in.ok() ? FormOf<T>::FromForm(in, std::move(read)) : T();
  if (!in.ok()) return in.Failure();
  return message;
}

// Bytes of the field, the most where it comes several times; empty: there is none.
inline std::string_view FieldIn(std::string_view message, uint32_t number) {
  std::string_view longest;
  spate::internal::RawField field;
  while (!message.empty() && spate::internal::DecodeField(message, field)) {
    if (field.number == number && field.bytes.size() > longest.size()) longest = field.bytes;
  }
  return longest;
}

// "open_job" of OpenJob.
template <typename T>
std::string KindName() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  std::string name;
  for (char c : text.substr(text.rfind(':') + 1)) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper && !name.empty()) name += '_';
    name += static_cast<char>(is_upper ? c - 'A' + 'a' : c);
  }
  return name;
}

// The kinds of a variant.
template <typename Variant>
struct KindsOf;
template <typename... Kinds>
struct KindsOf<std::variant<Kinds...>> {
  using Message = std::variant<Kinds...>;

  static void Append(std::string& out, const Message& message) {
    std::visit(
        [&]<typename T>(const T& kind) {
          spate::internal::FieldWriter::WriteIn(out, T::kNumber, FormOf<T>::ToForm(kind));
        },
        message);
  }
  // `advice` is for a kind that we do not know.
  static Result<Message> Decode(std::string_view name, std::string_view bytes,
                                std::string_view advice = "") {
    auto damaged = [&](std::string_view what) {
      return Fail(ErrorKind::kCorrupt, fmt::format("a damaged message: {}{}", name, what));
    };
    if (bytes.size() > kWireLimits.message_bytes) {
      return Fail(ErrorKind::kCorrupt, fmt::format("a message that is too long: {}", name));
    }
    std::optional<Result<Message>> message;
    for (spate::internal::RawField field; !bytes.empty();) {
      if (!spate::internal::DecodeField(bytes, field)) return damaged(" cannot be parsed");
      if (field.bits != spate::internal::Bits::kLength || !IsKind(field.number)) continue;
      if (message) return damaged(".kind occurs twice");
      (DecodeKind<Kinds>(field, message), ...);
    }
    if (!message) return damaged(fmt::format(".kind is missing or unknown{}", advice));
    return std::move(*message);
  }

 private:
  static bool IsKind(uint32_t number) { return ((number == Kinds::kNumber) || ...); }
  template <typename T>
  static void DecodeKind(const spate::internal::RawField& field,
                         std::optional<Result<Message>>& to) {
    if (field.number == T::kNumber) to = DecodeMessage<T>(KindName<T>(), field.bytes);
  }
};

}  // namespace spate::wire
