#include "store/sqlite/json_words.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace spate::store {
namespace {

// Length of the valid UTF-8 character at the start of `text`, 0 when there is none.
size_t Utf8Length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(0);
  size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4 || length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
  if (lead == 0xed && byte(1) > 0x9f) return 0;  // surrogate
  if (lead == 0xf0 && byte(1) < 0x90) return 0;  // overlong
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;  // beyond U+10FFFF
  return length;
}

void AppendWord(std::string_view word, std::string& out) {
  out += '"';
  while (!word.empty()) {
    size_t length = Utf8Length(word);
    auto lead = static_cast<uint8_t>(word[0]);
    if (length == 0) {
      fmt::format_to(std::back_inserter(out), "\\udc{:02x}", lead);
      length = 1;
    } else if (lead < 0x20 || lead == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", lead);
    } else {
      if (lead == '"' || lead == '\\') out += '\\';
      out.append(word.substr(0, length));
    }
    word.remove_prefix(length);
  }
  out += '"';
}

class Parser {
 public:
  explicit Parser(std::string_view in) : in_(in) {}

  bool Take(char c) {
    while (!in_.empty() && (in_[0] == ' ' || in_[0] == '\n' || in_[0] == '\t')) {
      in_.remove_prefix(1);
    }
    if (in_.empty() || in_[0] != c) return false;
    in_.remove_prefix(1);
    return true;
  }
  bool TakeNull() {
    bool is_null = in_.starts_with("null");
    if (is_null) in_.remove_prefix(4);
    return is_null;
  }
  bool AtEnd() const { return in_.empty(); }

  // The rest of a string after its first quote.
  bool Word(std::string& out) {
    while (!in_.empty()) {
      char c = in_[0];
      in_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\') {
        out += c;
      } else if (!Escape(out)) {
        return false;
      }
    }
    return false;
  }

 private:
  bool Escape(std::string& out) {
    if (in_.empty()) return false;
    char c = in_[0];
    in_.remove_prefix(1);
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (size_t at = kFrom.find(c); at != std::string_view::npos) {
      out += kTo[at];
      return true;
    }
    uint32_t code = 0;
    if (c != 'u' || !Hex(code)) return false;
    if (code >= 0xdc80 && code <= 0xdcff) {
      out += static_cast<char>(code & 0xff);
      return true;
    }
    if (code >= 0xd800 && code <= 0xdfff) return false;  // we write other characters as they are
    AppendUtf8(code, out);
    return true;
  }

  bool Hex(uint32_t& code) {
    if (in_.size() < 4) return false;
    for (int i = 0; i < 4; ++i) {
      char c = in_[static_cast<size_t>(i)];
      uint32_t digit = c >= '0' && c <= '9'   ? static_cast<uint32_t>(c - '0')
                       : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a' + 10)
                       : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A' + 10)
                                              : 16;
      if (digit == 16) return false;
      code = code * 16 + digit;
    }
    in_.remove_prefix(4);
    return true;
  }

  static void AppendUtf8(uint32_t code, std::string& out) {
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | (code >> 6));
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      out += static_cast<char>(0xe0 | (code >> 12));
      out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  std::string_view in_;
};

}  // namespace

std::string ToJson(const std::vector<std::string>& words, bool cut) {
  std::string out = "[";
  for (const std::string& word : words) {
    if (out.size() > 1) out += ',';
    AppendWord(word, out);
  }
  if (cut) out += words.empty() ? "null" : ",null";
  return out += ']';
}

std::optional<std::vector<std::string>> WordsFromJson(std::string_view json) {
  Parser parser(json);
  std::vector<std::string> words;
  if (!parser.Take('[')) return std::nullopt;
  if (!parser.Take(']')) {
    do {
      if (parser.TakeNull()) break;
      if (!parser.Take('"') || !parser.Word(words.emplace_back())) return std::nullopt;
    } while (parser.Take(','));
    if (!parser.Take(']')) return std::nullopt;
  }
  if (!parser.AtEnd()) return std::nullopt;
  return words;
}

}  // namespace spate::store
