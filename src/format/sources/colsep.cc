// The separator is translated from what Perl users type to a POSIX extended regular expression,
// and to plain text where it is no more than that. The C library matches: std::regex needs stack
// in proportion to the text.

#include "format/sources/colsep.h"

#include <fmt/format.h>
#include <regex.h>

#include <array>
#include <limits>
#include <utility>

#include "base/units.h"

namespace spate::format {

struct ColumnSplitter::Regex {
  regex_t compiled{};
  bool ready = false;
  Regex() = default;
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  ~Regex() {
    if (ready) regfree(&compiled);
  }
};

namespace {

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// A separator in Perl syntax, as a POSIX extended regular expression; as plain text if it is one.
class Translation {
 public:
  static constexpr size_t kLengthMax = 200;
  static constexpr int kDepthMax = 4;

  explicit Translation(std::string_view separator) : separator_(separator) {}

  Status Run() {
    if (separator_.size() > kLengthMax) {
      return Bad(fmt::format("is longer than {} bytes: write a shorter one", kLengthMax));
    }
    for (; at_ < separator_.size(); ++at_) {
      char c = separator_[at_];
      if (c == '\0') return Bad("holds a NUL byte; use -0 for NUL-separated values");
      Status status;
      if (c == '\\') {
        operator_ = '\0';
        status = Backslash();
      } else if (in_brackets_) {
        InBrackets(c);
      } else {
        status = Outside(c);
      }
      if (!status) return status;
    }
    return {};
  }

  std::unexpected<Error> Bad(std::string_view why) const {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--colsep '{}': {}", EscapeForScreen(separator_), why));
  }
  const std::string& regex() const { return regex_; }
  const std::string& literal() const { return literal_; }
  bool is_literal() const { return is_literal_; }

 private:
  Status Backslash() {
    if (++at_ == separator_.size()) return Bad("ends in a backslash: write \\\\ for one");
    char c = separator_[at_];
    if (in_brackets_ ? !IsOneOf(c, "tnrfdsw.,;:|/ ") : IsAlnum(c) && !IsOneOf(c, "tnrfdDsSwW")) {
      return Bad(fmt::format("\\{} is not supported {}; write a POSIX extended regular expression",
                             c, in_brackets_ ? "in brackets" : "here"));
    }
    constexpr std::string_view kControls = "t\tn\nr\rf\f";
    size_t control = kControls.find(c);
    if (control != std::string_view::npos && control % 2 == 0) {
      literal_ += kControls[control + 1];
      regex_ += kControls[control + 1];
    } else if (IsOneOf(c, "dDsSwW")) {
      std::string_view set = IsOneOf(c, "dD")   ? "0-9"
                             : IsOneOf(c, "sS") ? "[:space:]"
                                                : "[:alnum:]_";
      is_literal_ = false;
      regex_ += in_brackets_ ? std::string(set)
                             : fmt::format("[{}{}]", IsOneOf(c, "DSW") ? "^" : "", set);
    } else {
      if (!in_brackets_) regex_ += '\\';  // POSIX brackets know no backslash
      regex_ += c;
      literal_ += c;
    }
    return {};
  }

  void InBrackets(char c) {
    // "[[:space:]]": a class ends in its own bracket.
    size_t end = separator_.substr(at_).starts_with("[:") ? separator_.find(":]", at_ + 2)
                                                          : std::string_view::npos;
    if (end != std::string_view::npos) {
      regex_ += separator_.substr(at_, end + 2 - at_);
      at_ = end + 1;
      return;
    }
    in_brackets_ = c != ']';
    regex_ += c;
  }

  Status Outside(char c) {
    char before = std::exchange(operator_, IsOneOf(c, "(*+?}") ? c : '\0');
    if (before != '\0' && IsOneOf(c, before == '(' ? "?" : "*+?{")) {
      return Bad(
          fmt::format("{}{} is Perl syntax; write a POSIX extended regular expression", before, c));
    }
    depth_ += c == '(' ? 1 : c == ')' ? -1 : 0;
    counts_ += c == '{' ? 1 : 0;
    // The C library copies what is repeated, and a group in a group in a group grows without end.
    if (depth_ > kDepthMax || counts_ > 1) {
      return Bad("has too many nested groups, or more than one {N}; write a simpler one");
    }
    regex_ += c;
    literal_ += c;
    is_literal_ = is_literal_ && !IsOneOf(c, ".[]()*+?{}|^$");
    if (c == '[') {
      in_brackets_ = true;
      // A bracket right at the start is one of the set.
      if (separator_.substr(at_ + 1).starts_with('^')) regex_ += separator_[++at_];
      if (separator_.substr(at_ + 1).starts_with(']')) regex_ += separator_[++at_];
    }
    return {};
  }

  std::string_view separator_;
  size_t at_ = 0;
  bool in_brackets_ = false;
  char operator_ = '\0';  // the byte before, when it is one of ( * + ? }
  int depth_ = 0;         // of groups
  int counts_ = 0;        // of {N}
  std::string regex_;
  std::string literal_;
  bool is_literal_ = true;
};

}  // namespace

Result<ColumnSplitter> ColumnSplitter::Make(std::string_view separator) {
  ColumnSplitter splitter;
  Translation translation(separator);
  if (separator.empty())
    return translation.Bad("is empty; write the text that separates two columns");
  TRY(translation.Run());
  if (translation.is_literal()) {
    splitter.literal_ = translation.literal();
    return splitter;
  }
  auto regex = std::make_shared<Regex>();
  int code = regcomp(&regex->compiled, translation.regex().c_str(), REG_EXTENDED);
  if (code != 0) {
    std::array<char, 128> why{};
    regerror(code, &regex->compiled, why.data(), why.size());
    return translation.Bad(
        fmt::format("is not a regular expression ({}): put a backslash before "
                    "a byte that is meant as itself",
                    why.data()));
  }
  regex->ready = true;
  if (regexec(&regex->compiled, "", 0, nullptr, 0) == 0) {
    return translation.Bad(
        "matches the empty text: put a backslash before a byte that is meant as itself, as in "
        "'\\|'");
  }
  splitter.regex_ = std::move(regex);
  return splitter;
}

ColumnSplitter ColumnSplitter::AtNul() {
  ColumnSplitter splitter;
  splitter.literal_ = std::string(1, '\0');
  return splitter;
}

void ColumnSplitter::Split(std::string_view value, std::vector<std::string_view>& columns) const {
  if (regex_ == nullptr) {
    while (true) {
      size_t at = value.find(literal_);
      columns.push_back(value.substr(0, at));
      if (at == std::string_view::npos) return;
      value.remove_prefix(at + literal_.size());
    }
  }
  // The matcher counts in int. Nothing so long can be started, let it be one column.
  if (value.size() > static_cast<size_t>(std::numeric_limits<regoff_t>::max())) {
    columns.push_back(value);
    return;
  }
  const std::string text(value);  // regexec wants a NUL behind it
  size_t column = 0;              // where the column starts
  size_t from = 0;                // where the next separator is looked for
  while (from < text.size()) {
    regmatch_t match{};
    int flags = from > 0 ? REG_NOTBOL : 0;
    if (regexec(&regex_->compiled, text.c_str() + from, 1, &match, flags) != 0) break;
    size_t start = from + static_cast<size_t>(match.rm_so);
    size_t end = from + static_cast<size_t>(match.rm_eo);
    if (end == start) {  // an assertion like $: nothing to cut at
      from = end + 1;
      continue;
    }
    columns.push_back(value.substr(column, start - column));
    column = from = end;
  }
  columns.push_back(value.substr(column));
}

}  // namespace spate::format
