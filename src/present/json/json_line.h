// JsonLine: one JSON object on one line, written field by field. Text must be valid UTF-8 or is
// given as base64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spate::present {

class JsonLine {
 public:
  JsonLine() = default;
  JsonLine& Text(std::string_view key, std::string_view value);
  JsonLine& Number(std::string_view key, int64_t value);
  JsonLine& Seconds(std::string_view key, double value) { return Raw(key, SecondsText(value)); }
  // Six decimals, without zeros at the end.
  static std::string SecondsText(double value);
  JsonLine& Flag(std::string_view key, bool value);
  JsonLine& Null(std::string_view key);
  // `value` is JSON already.
  JsonLine& Raw(std::string_view key, std::string_view value);
  // Appends the text unchanged, without a key: the rest of a value.
  void Append(std::string_view text) { text_ += text; }
  // The text so far, to be written ahead of the rest; the line goes on behind it.
  std::string DrainText();
  std::string Object() const { return (first_ ? "{" : text_) + "}"; }
  // The whole line with its newline.
  std::string Finish() const { return Object() + "\n"; }

 private:
  void Key(std::string_view key);
  std::string text_;
  bool first_ = true;  // no field yet
};

// The version of the JSON that commands print (docs/formats/json.md, json-lines.md).
inline constexpr int kJsonVersion = 2;
// A line that begins with its type and the version.
JsonLine TypedLine(std::string_view type);
// The field `key`; `key`_base64 when the value is no UTF-8.
void TextOrBase64(JsonLine& line, std::string_view key, std::string_view value);
void TextsOrBase64(JsonLine& line, std::string_view key, const std::vector<std::string>& values);

// `text` as the inside of a JSON string. Bytes that are no UTF-8 pass: see IsUtf8.
std::string JsonEscaped(std::string_view text);

// Checks UTF-8 across pieces.
class Utf8Check {
 public:
  void Feed(std::string_view piece);
  // True if all that came is valid and nothing is cut off.
  bool valid() const { return valid_ && need_ == 0; }

 private:
  bool valid_ = true;
  int need_ = 0;              // continuation bytes to come
  unsigned char low_ = 0x80;  // bounds of the next one
  unsigned char high_ = 0xBF;
};
inline bool IsUtf8(std::string_view text) {
  Utf8Check check;
  check.Feed(text);
  return check.valid();
}

// Base64 across pieces.
class Base64 {
 public:
  std::string Feed(std::string_view piece);
  std::string Finish();

 private:
  std::string rest_;  // fewer than 3 bytes
};
// All of `bytes` at once.
std::string ToBase64(std::string_view bytes);

}  // namespace spate::present
