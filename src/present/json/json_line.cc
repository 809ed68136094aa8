#include "present/json/json_line.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"

namespace spate::present {
void JsonLine::Key(std::string_view key) {
  text_ += first_ ? '{' : ',';
  first_ = false;
  text_ += fmt::format("\"{}\":", key);
}

std::string JsonLine::DrainText() { return std::exchange(text_, std::string()); }

JsonLine& JsonLine::Text(std::string_view key, std::string_view value) {
  Key(key);
  text_ += '"' + JsonEscaped(value) + '"';
  return *this;
}

JsonLine& JsonLine::Number(std::string_view key, int64_t value) {
  return Raw(key, std::to_string(value));
}

std::string JsonLine::SecondsText(double value) {
  std::string digits = fmt::format("{:.6f}", value);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

JsonLine& JsonLine::Flag(std::string_view key, bool value) {
  return Raw(key, value ? "true" : "false");
}

JsonLine& JsonLine::Null(std::string_view key) { return Raw(key, "null"); }

JsonLine& JsonLine::Raw(std::string_view key, std::string_view value) {
  Key(key);
  text_ += value;
  return *this;
}

JsonLine TypedLine(std::string_view type) {
  JsonLine line;
  line.Text("type", type).Number("v", kJsonVersion);
  return line;
}

void TextOrBase64(JsonLine& line, std::string_view key, std::string_view value) {
  if (IsUtf8(value)) {
    line.Text(key, value);
  } else {
    line.Text(fmt::format("{}_base64", key), ToBase64(value));
  }
}

void TextsOrBase64(JsonLine& line, std::string_view key, const std::vector<std::string>& values) {
  bool text = true;
  for (const std::string& value : values) text = text && IsUtf8(value);
  std::string list;
  for (const std::string& value : values) {
    list += list.empty() ? '[' : ',';
    list += '"' + (text ? JsonEscaped(value) : ToBase64(value)) + '"';
  }
  if (list.empty()) list = "[";
  line.Raw(fmt::format("{}{}", key, text ? "" : "_base64"), list + ']');
}

namespace {

// U+0080 to U+009F, in UTF-8: terminals obey some of them as they do ESC.
bool IsC1Control(std::string_view two) {
  return two.size() == 2 && two[0] == '\xc2' && (static_cast<unsigned char>(two[1]) & 0xe0) == 0x80;
}

}  // namespace

std::string JsonEscaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto hidden = text.substr(i, IsDeceptive(text.substr(i, 2)) ? 2 : 3);
    if (IsDeceptive(hidden)) {
      out += EscapeForScreen(hidden);  // JSON has the same word for those of the first plane
      i += hidden.size() - 1;
      continue;
    }
    if (IsC1Control(text.substr(i, 2))) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[++i]));
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out;
}

void Utf8Check::Feed(std::string_view piece) {
  for (char c : piece) {
    auto byte = static_cast<unsigned char>(c);
    if (need_ > 0) {
      if (byte < low_ || byte > high_) valid_ = false;
      low_ = 0x80;
      high_ = 0xBF;
      --need_;
    } else if (byte >= 0x80) {
      if (byte < 0xC2 || byte > 0xF4) valid_ = false;
      need_ = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
      // Overlong forms, surrogates, and what lies above U+10FFFF.
      low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
      high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    }
    if (!valid_) return;
  }
}

std::string Base64::Feed(std::string_view piece) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  rest_ += piece;
  std::string out;
  size_t whole = rest_.size() / 3 * 3;
  out.reserve(whole / 3 * 4);
  for (size_t i = 0; i < whole; i += 3) {
    uint32_t bits = (static_cast<unsigned char>(rest_[i]) << 16) |
                    (static_cast<unsigned char>(rest_[i + 1]) << 8) |
                    static_cast<unsigned char>(rest_[i + 2]);
    for (int shift = 18; shift >= 0; shift -= 6) out += kDigits[(bits >> shift) & 63];
  }
  rest_.erase(0, whole);
  return out;
}

std::string Base64::Finish() {
  if (rest_.empty()) return "";
  size_t have = rest_.size();
  std::string out = Feed(std::string(3 - have, '\0'));
  out.replace(have + 1, 3 - have, 3 - have, '=');
  return out;
}

std::string ToBase64(std::string_view bytes) {
  Base64 encoder;
  std::string text = encoder.Feed(bytes);
  return text + encoder.Finish();
}

}  // namespace spate::present
