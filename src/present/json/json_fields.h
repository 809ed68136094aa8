// JSON of lists of fields (docs/formats/json.md), in their order: that of a type
// (core/model/fields.h), or one that is written down where the line is made. Text that is no UTF-8
// goes as base64 under KEY_base64, an absent optional as null, times in seconds, elements of lists
// of texts likewise.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "present/json/json_line.h"

namespace spate::present {

// JSON as it stands.
struct Json {
  std::string text;
};

// `to_json` makes Json of an element.
template <typename List, typename ToJson>
Json ListOf(const List& values, ToJson to_json) {
  std::string list;
  for (const auto& value : values) list += (list.empty() ? "" : ",") + to_json(value).text;
  return {'[' + list + ']'};
}

namespace internal {

class JsonFields {
 public:
  explicit JsonFields(JsonLine& line) : line_(line) {}

  template <typename T>
  void operator()(uint32_t, std::string_view name, const T& value) {
    if (name != kNotInJson) Append(name, value);
  }

  void Append(std::string_view key, const Json& value) { line_.Raw(key, value.text); }
  void Append(std::string_view key, const char* word) { line_.Text(key, word); }
  void Append(std::string_view key, std::string_view word) { line_.Text(key, word); }
  void Append(std::string_view key, bool value) { line_.Flag(key, value); }
  template <std::integral T>
  void Append(std::string_view key, T value) {
    line_.Number(key, static_cast<int64_t>(value));
  }
  template <typename Tag, typename Rep>
  void Append(std::string_view key, Id<Tag, Rep> id) {
    line_.Number(key, id.value);
  }
  // An enum that is told by a word.
  template <typename E>
    requires requires(E value) { WordOf(value); }
  void Append(std::string_view key, E value) {
    line_.Text(key, WordOf(value));
  }
  void Append(std::string_view key, double value) { line_.Seconds(key, value); }
  void Append(std::string_view key, Duration time) { line_.Seconds(key, time.seconds()); }
  void Append(std::string_view key, Instant time) { line_.Seconds(key, time.seconds()); }
  void Append(std::string_view key, const std::string& text) { TextOrBase64(line_, key, text); }
  void Append(std::string_view key, const std::vector<std::string>& texts) {
    TextsOrBase64(line_, key, texts);
  }
  template <std::integral T>
  void Append(std::string_view key, const std::vector<T>& numbers) {
    Append(key, ListOf(numbers, [](T number) { return Json{std::to_string(number)}; }));
  }
  void Append(std::string_view key, const std::vector<Duration>& times) {
    Append(key, ListOf(times,
                       [](Duration time) { return Json{JsonLine::SecondsText(time.seconds())}; }));
  }
  template <HasFields T>
  void Append(std::string_view key, const T& value) {
    if (key == kInto) return T::Fields(value, *this);
    Append(key, ObjectOf(value));
  }
  template <HasFields T>
  void Append(std::string_view key, const std::vector<T>& values) {
    Append(key, ListOf(values, [](const T& value) { return ObjectOf(value); }));
  }
  template <typename List>
  void Append(std::string_view key, spate::Columns<List> columns) {
    Append(key, columns.rows);
  }
  template <typename T>
  void Append(std::string_view key, OneMore<T> number) {
    Append(key, number.value);
  }
  template <typename T>
  void Append(std::string_view key, OrNever<T> time) {
    if (time.value == Duration::Max()) return void(line_.Null(key));
    Append(key, time.value);
  }
  template <typename T>
  void Append(std::string_view key, const std::optional<T>& value) {
    if (value) {
      Append(key, *value);
    } else if (key != kInto) {
      line_.Null(key);
    }
  }

  template <HasFields T>
  static Json ObjectOf(const T& value) {
    JsonLine inner;
    T::Fields(value, JsonFields(inner));
    return {inner.Object()};
  }

 private:
  JsonLine& line_;
};

}  // namespace internal

// The fields of a type, or names and their values: AddFields(line, "job", job, "name", name).
template <HasFields T>
void AddFields(JsonLine& line, const T& value) {
  T::Fields(value, internal::JsonFields(line));
}
inline void AddFields(JsonLine&) {}
template <typename T, typename... Rest>
void AddFields(JsonLine& line, std::string_view name, const T& value, const Rest&... rest) {
  internal::JsonFields(line).Append(name, value);
  AddFields(line, rest...);
}
// A line of them, which begins with its type and the version, with its newline.
template <typename... Fields>
std::string JsonOf(std::string_view type, const Fields&... fields) {
  JsonLine line = TypedLine(type);
  AddFields(line, fields...);
  return line.Finish();
}
// An object of them.
template <typename... Fields>
Json ObjectOf(const Fields&... fields) {
  JsonLine line;
  AddFields(line, fields...);
  return {line.Object()};
}
// A field that is null unless it is there.
template <typename T>
std::optional<T> OrNull(bool is_there, T value) {
  return is_there ? std::optional<T>(std::move(value)) : std::nullopt;
}
inline std::optional<std::string> OrNull(std::string text) {
  const bool is_there = !text.empty();
  return OrNull(is_there, std::move(text));
}

}  // namespace spate::present
