// JSON of a type that lists its fields (core/model/fields.h), in the order of the list
// (docs/formats/json.md). Text that is no UTF-8 goes as base64 under KEY_base64, an absent optional
// as null, times in seconds, elements of lists of texts likewise.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "present/json/json_line.h"

namespace spate::present {

namespace internal {

class JsonFields {
 public:
  explicit JsonFields(JsonLine& line) : line_(line) {}

  template <typename T>
  void operator()(uint32_t, std::string_view name, const T& value) {
    if (name != kNotInJson) Put(name, value);
  }

 private:
  void Put(std::string_view key, bool value) { line_.Flag(key, value); }
  template <std::integral T>
  void Put(std::string_view key, T value) {
    line_.Number(key, static_cast<int64_t>(value));
  }
  template <typename Tag, typename Rep>
  void Put(std::string_view key, Id<Tag, Rep> id) {
    line_.Number(key, id.value);
  }
  // An enum that is told by a word.
  template <typename E>
    requires requires(E value) { WordOf(value); }
  void Put(std::string_view key, E value) {
    line_.Text(key, WordOf(value));
  }
  void Put(std::string_view key, double value) { line_.Seconds(key, value); }
  void Put(std::string_view key, Duration time) { line_.Seconds(key, time.seconds()); }
  void Put(std::string_view key, Instant time) { line_.Seconds(key, time.seconds()); }
  void Put(std::string_view key, const std::string& text) { TextOrBase64(line_, key, text); }
  void Put(std::string_view key, const std::vector<std::string>& texts) {
    TextsOrBase64(line_, key, texts);
  }
  template <HasFields T>
  static std::string ObjectOf(const T& value) {
    JsonLine inner;
    T::Fields(value, JsonFields(inner));
    std::string text = inner.Finish();
    text.pop_back();  // its newline
    return text;
  }
  template <HasFields T>
  void Put(std::string_view key, const T& value) {
    if (key == kInto) return T::Fields(value, *this);
    line_.Raw(key, ObjectOf(value));
  }
  template <HasFields T>
  void Put(std::string_view key, const std::vector<T>& values) {
    std::string list = "[";
    for (const T& value : values) list += (list.size() > 1 ? "," : "") + ObjectOf(value);
    line_.Raw(key, list + ']');
  }
  template <typename List>
  void Put(std::string_view key, spate::Columns<List> columns) {
    Put(key, columns.rows);
  }
  template <typename T>
  void Put(std::string_view key, OneMore<T> number) {
    Put(key, number.value);
  }
  template <typename T>
  void Put(std::string_view key, const std::optional<T>& value) {
    if (value) {
      Put(key, *value);
    } else if (key != kInto) {
      line_.Null(key);
    }
  }

  JsonLine& line_;
};

}  // namespace internal

template <HasFields T>
void AddFields(JsonLine& line, const T& value) {
  T::Fields(value, internal::JsonFields(line));
}
// One line, with its newline.
template <HasFields T>
std::string JsonOf(std::string_view type, const T& value) {
  JsonLine line = TypedLine(type);
  AddFields(line, value);
  return line.Finish();
}

}  // namespace spate::present
