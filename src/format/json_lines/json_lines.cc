// The parser gives a line's tokens to LineReader, which takes one flat object and remembers the
// first thing that is wrong with it. Nothing is built of what is refused, so nothing deep can be.
#include "format/json_lines/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/units.h"
#include "format/byte_order_mark.h"

namespace spate::format {
namespace {

using Json = nlohmann::json;

constexpr size_t kKeysMost = 1000;

// How nlohmann::json calls a handler of its own.
class LineReader : public nlohmann::json_sax<Json> {
 public:
  std::vector<std::pair<std::string, std::string>>& fields() { return fields_; }
  const std::string& problem() const { return problem_; }

  bool null() override { return Value(""); }
  bool boolean(bool value) override { return Value(value ? "true" : "false"); }
  bool number_integer(int64_t value) override {
    return Value(value == 0 ? "-0" : fmt::format("{}", value));
  }
  bool number_unsigned(uint64_t value) override { return Value(fmt::format("{}", value)); }
  bool number_float(double, const std::string& written) override { return Value(written); }
  bool string(std::string& value) override {
    if (value.find('\0') == std::string::npos) return Value(std::move(value));
    return Wrong(
        fmt::format("the text of '{}' contains a NUL character, which is not allowed in values",
                    EscapeForScreen(key_)));
  }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(size_t) override { return std::exchange(open_, true) ? Nested() : true; }
  bool key(std::string& value) override {
    key_ = std::move(value);
    if (fields_.size() == kKeysMost)
      return Wrong(fmt::format("it has more than {} keys", kKeysMost));
    if (key_.empty() || key_.find('\0') != std::string::npos) {
      return Wrong("a key is empty or contains a NUL character; give it a name");
    }
    bool twice = std::ranges::any_of(fields_, [&](const auto& f) { return f.first == key_; });
    return !twice || Wrong(fmt::format("the key '{}' occurs twice", EscapeForScreen(key_)));
  }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return open_ ? Nested() : NoObject(); }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Wrong(fmt::format("it is not valid JSON at column {}", position));
  }

 private:
  bool Value(std::string text) {
    if (!open_) return NoObject();
    fields_.emplace_back(std::move(key_), std::move(text));
    return true;
  }
  bool Wrong(std::string text) {
    problem_ = std::move(text);
    return false;
  }
  bool NoObject() { return Wrong("it is not an object; write one, as in {\"name\": \"a\"}"); }
  bool Nested() {
    return Wrong(
        fmt::format("the value of '{}' is nested; make it a text, a number, true or false, or "
                    "leave the key out",
                    EscapeForScreen(key_)));
  }

  bool open_ = false;
  std::string key_;
  std::string problem_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

// A line's values in the order of the names; the first line makes these.
Result<std::string> RowOf(std::string_view line, bool first, std::vector<std::string>& names) {
  LineReader reader;
  if (!Json::sax_parse(line, &reader)) return Fail(ErrorKind::kInvalid, reader.problem());
  auto& fields = reader.fields();
  if (first) {
    for (const auto& [key, value] : fields) names.push_back(key);
    if (names.empty())
      return Fail(ErrorKind::kInvalid,
                  "it has no keys, but keys are needed as names of the values");
  }
  std::string row;
  for (const std::string& name : names) {
    auto at = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
    if (at == fields.end()) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("the key '{}' is missing, which the first line has; add it (null is "
                              "the empty text)",
                              EscapeForScreen(name)));
    }
    if (&name != names.data()) row += '\0';
    row += at->second;
    fields.erase(at);
  }
  if (fields.empty()) return row;
  return Fail(ErrorKind::kInvalid,
              fmt::format("the key '{}' is not in the first line, whose keys name the values; add "
                          "it there, or leave it out here",
                          EscapeForScreen(fields.front().first)));
}

}  // namespace

Result<JsonLines> ParseJsonLines(std::string_view text) {
  text = WithoutByteOrderMark(text);
  JsonLines lines;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto row = RowOf(line, lines.rows.empty(), lines.names);
    if (!row) return Within(fmt::format("line {}", number), std::move(row.error()));
    lines.rows.push_back(std::move(*row));
  }
  return lines;
}

}  // namespace spate::format
