// A reader of shell texts that knows just enough of the grammar to tell where a command's name
// stands, what is quoted, and where a here-document or a case pattern is. FindBashText looks at the
// bytes first (bash_scan.h): most texts hold nothing that needs the reader.
//
// The reader never goes back but for "((", which is arithmetic only where "))" ends it. These steps
// are bounded, so that a text made of such beginnings costs little more than another.

#include "format/shell_dialect.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "format/bash_scan.h"
#include "format/shell_chars.h"

namespace spate::format {
namespace {

using std::string_view_literals::operator""sv;
using shell_chars::EndsWord, shell_chars::IsBlankOrNewline, shell_chars::IsDigit;
using shell_chars::IsNameByte, shell_chars::IsNameStart, shell_chars::IsShellBlank;
using shell_chars::NameLength;

constexpr int kDepthMax = 100;
constexpr size_t kStepsBackMost = 1u << 20;
constexpr size_t kRangeMost = 64;  // bytes of {1..3}

constexpr unsigned Bit(ShellKind kind) { return 1u << static_cast<unsigned>(kind); }
// The shells that lack a construct.
constexpr unsigned kPosix = Bit(ShellKind::kPosix);
constexpr unsigned kNotZsh = kPosix | Bit(ShellKind::kKsh);
constexpr unsigned kOnlyBash = kNotZsh | Bit(ShellKind::kZsh);

bool IsNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, IsDigit);
}

// "{1..3}", "{a..e}" or "{1..9..2}" at the start of `text`: its length, 0 when there is none.
size_t RangeLength(std::string_view text) {
  size_t close = text.substr(0, kRangeMost).find('}');
  if (close == std::string_view::npos) return 0;
  std::string_view inner = text.substr(1, close - 1);
  size_t dots = inner.find("..");
  if (dots == std::string_view::npos) return 0;
  std::string_view first = inner.substr(0, dots);
  std::string_view last = inner.substr(dots + 2);
  if (size_t more = last.find(".."); more != std::string_view::npos) {
    if (!IsNumber(last.substr(more + 2))) return 0;
    last = last.substr(0, more);
  }
  auto letter = [](std::string_view end) {
    return end.size() == 1 && IsNameStart(end.front()) && end.front() != '_';
  };
  bool range = (IsNumber(first) && IsNumber(last)) || (letter(first) && letter(last));
  return range ? close + 1 : 0;
}

enum class End : uint8_t { kText, kParen, kBacktick, kCaseItem };

class Reader {
 public:
  Reader(std::string_view text, ShellKind kind, std::span<const std::string> variables)
      : text_(text), kind_(kind), variables_(variables) {}

  std::optional<BashText> Find() {
    (void)Commands(End::kText);
    return found_;
  }

 private:
  struct HereDocument {
    std::string end;
    bool tabs = false;  // <<-: tabs before the lines do not count
  };
  // Role of the next word in its command.
  struct Syntax {
    bool name = true;   // the word is the command's name
    bool test = false;  // it belongs to [ or test
    void Begin() { *this = {}; }
  };

  // All readers: false when something was found, or the text cannot be followed any further.
  bool Commands(End end);
  bool Operator(Syntax& place, End end, bool& ended);
  bool Less();
  bool Greater();
  bool Paren(Syntax& place);
  bool Word(Syntax& place, End end, bool& ended);
  bool WordPieces(bool is_pattern);
  bool NameWord(std::string_view word, Syntax& place);
  bool Assignment(std::string_view word);
  bool For(Syntax& place);
  bool Case(Syntax& place);
  bool SingleQuoted();
  bool DoubleQuoted();
  bool Backtick();
  bool Dollar(bool quoted);
  bool Braced(bool quoted);
  bool BracedWord(bool quoted, bool is_pattern);
  bool Arithmetic(size_t end);
  bool HereDocuments();
  bool BeginHereDocument();
  bool Argument();

  bool Done() const { return at_ >= text_.size(); }
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  // A backslash at the end may lead behind it.
  std::string_view Rest() const { return text_.substr(std::min(at_, text_.size())); }
  bool StartsWith(std::string_view word) const { return Rest().starts_with(word); }
  bool WordIs(std::string_view word) const {
    return StartsWith(word) &&
           (at_ + word.size() == text_.size() || EndsWord(At(at_ + word.size())));
  }
  void SkipBlanks() {
    while (!Done() && (IsShellBlank(text_[at_]) || StartsWith("\\\n")))
      at_ += IsShellBlank(text_[at_]) ? 1 : 2;
  }
  void SkipComment() {
    while (!Done() && text_[at_] != '\n' && !(backticks_ > 0 && text_[at_] == '`')) ++at_;
  }
  // False, in any case, where the task's shell lacks it; else the reader goes on.
  bool Lacks(unsigned shells, std::string_view text, std::string_view instead) {
    if ((shells & Bit(kind_)) == 0) return false;
    found_ = BashText{text, instead};
    return true;
  }
  bool Assigns(std::string_view variable) const;
  bool Variable(std::string_view name, std::string_view shown);
  size_t ArithmeticEnd(size_t from);

  const std::string_view text_;
  const ShellKind kind_;
  const std::span<const std::string> variables_;
  size_t steps_back_ = 0;  // to find the end of "(("
  size_t at_ = 0;
  int depth_ = 0;
  int backticks_ = 0;
  std::vector<HereDocument> here_documents_;
  std::array<std::optional<bool>, kBashVariables.size()> set_;  // by variable
  std::optional<BashText> found_;
};

bool Reader::Commands(End end) {
  if (++depth_ > kDepthMax) return false;
  Syntax place;
  while (!Done()) {
    char c = text_[at_];
    if (IsShellBlank(c)) {
      ++at_;
      continue;
    }
    bool ended = false;
    if (c == '`' && backticks_ > 0) {
      if (end != End::kBacktick) return false;
      ++at_;
      ended = true;
    } else if (c == '#') {
      SkipComment();
    } else if (EndsWord(c)) {
      if (!Operator(place, end, ended)) return false;
    } else if (!Word(place, end, ended)) {
      return false;
    }
    if (ended) {
      --depth_;
      return true;
    }
  }
  --depth_;
  return end == End::kText;
}

bool Reader::Operator(Syntax& place, End end, bool& ended) {
  switch (text_[at_]) {
    case '\n':
      ++at_;
      place.Begin();
      return HereDocuments();
    case ';':
      ++at_;
      place.Begin();
      if (end != End::kCaseItem || (At(at_) != ';' && At(at_) != '&')) return true;
      at_ += StartsWith(";&") ? 2 : 1;
      ended = true;
      return true;
    case '&':
      if (At(at_ + 1) == '>') {
        size_t length = At(at_ + 2) == '>' ? 3 : 2;
        if (Lacks(kNotZsh, text_.substr(at_, length),
                  length == 3 ? ">> FILE 2>&1" : "> FILE 2>&1")) {
          return false;
        }
        at_ += length;
        return Argument();
      }
      ++at_;
      place.Begin();
      return true;
    case '|':
      ++at_;
      if (At(at_) == '&' && Lacks(kNotZsh, text_.substr(at_ - 1, 2), "2>&1 |")) return false;
      if (At(at_) == '&') ++at_;
      place.Begin();
      return true;
    case '<':
      return Less();
    case '>':
      return Greater();
    case '(':
      return Paren(place);
    default:  // ')'
      ++at_;
      ended = end == End::kParen;
      return ended;
  }
}

bool Reader::Less() {
  if (StartsWith("<<<")) {
    if (Lacks(kPosix, text_.substr(at_, 3), "printf '%s\\n' TEXT | COMMAND")) return false;
    at_ += 3;
    return Argument();
  }
  if (StartsWith("<<")) return BeginHereDocument();
  if (StartsWith("<(")) {
    if (Lacks(kPosix, text_.substr(at_, 2), "a pipe or a file")) return false;
    at_ += 2;
    return Commands(End::kParen);
  }
  ++at_;
  if (At(at_) == '&' || At(at_) == '>') ++at_;
  return Argument();
}

bool Reader::Greater() {
  if (StartsWith(">(")) {
    if (Lacks(kPosix, text_.substr(at_, 2), "a pipe or a file")) return false;
    at_ += 2;
    return Commands(End::kParen);
  }
  size_t start = at_++;
  if (At(at_) == '&') {
    bool numbered = start > 0 && IsDigit(text_[start - 1]);
    ++at_;
    SkipBlanks();
    char c = At(at_);
    bool file = IsNameStart(c) || c == '/' || c == '.' || c == '~';
    if (!numbered && file) {
      size_t end = at_;
      while (end < text_.size() && !EndsWord(text_[end]) && text_[end] != '`') ++end;
      if (Lacks(kNotZsh, text_.substr(start, end - start), "> FILE 2>&1")) return false;
    }
    return Argument();
  }
  if (At(at_) == '>' || At(at_) == '|') ++at_;
  return Argument();
}

// The target of a redirection: no command's name.
bool Reader::Argument() {
  SkipBlanks();
  if (Done() || EndsWord(text_[at_]) || (backticks_ > 0 && text_[at_] == '`')) return true;
  return WordPieces(false);
}

bool Reader::Paren(Syntax& place) {
  if (place.name) {
    if (At(at_ + 1) == '(') {
      if (size_t end = ArithmeticEnd(at_ + 2); end != std::string_view::npos) {
        if (Lacks(kPosix, text_.substr(at_, 2), "[ $((...)) -ne 0 ]")) return false;
        at_ = end;
        place.name = false;
        return true;
      }
    }
    ++at_;
    if (!Commands(End::kParen)) return false;
    place.name = false;
    return true;
  }
  if (!StartsWith("()")) return false;
  at_ += 2;
  place.Begin();
  return true;
}

bool Reader::WordPieces(bool is_pattern) {
  while (!Done()) {
    char c = text_[at_];
    if (EndsWord(c) || (c == '`' && backticks_ > 0)) return true;
    bool go_on = true;
    switch (c) {
      case '\\':
        at_ += 2;
        break;
      case '\'':
        go_on = SingleQuoted();
        break;
      case '"':
        go_on = DoubleQuoted();
        break;
      case '`':
        go_on = Backtick();
        break;
      case '$':
        go_on = Dollar(/*quoted=*/false);
        break;
      case '{':
        if (size_t length = is_pattern ? 0 : RangeLength(Rest()); length > 0) {
          if (Lacks(kPosix, text_.substr(at_, length), "$(seq FIRST LAST)")) return false;
          at_ += length;
          break;
        }
        ++at_;
        break;
      default:
        ++at_;
    }
    if (!go_on) return false;
  }
  return true;
}

bool Reader::Word(Syntax& place, End end, bool& ended) {
  size_t start = at_;
  if (place.name && end == End::kCaseItem && WordIs("esac")) {
    ended = true;
    return true;  // Case takes it
  }
  if (!WordPieces(false)) return false;
  at_ = std::min(at_, text_.size());
  std::string_view word = text_.substr(start, at_ - start);
  char next = At(at_);
  if ((next == '<' || next == '>') && IsNumber(word)) return true;  // of a descriptor
  if (next == '(') {
    if (word.ends_with('=') && NameLength(word) > 0) {
      return !Lacks(kPosix, text_.substr(start, word.size() + 1), "") && Commands(End::kParen);
    }
    if (!place.name || At(at_ + 1) != ')') return false;
    at_ += 2;
    place.Begin();
    return true;
  }
  if (place.name) return NameWord(word, place);
  return !(place.test && word == "==" && Lacks(kPosix, word, "="));
}

bool Reader::NameWord(std::string_view word, Syntax& place) {
  for (std::string_view known :
       {"if"sv, "then"sv, "else"sv, "elif"sv, "while"sv, "until"sv, "do"sv, "!"sv, "{"sv}) {
    if (word == known) return true;
  }
  if (size_t name = NameLength(word); name > 0 && name < word.size()) {
    if (!Assignment(word)) return false;
    if (word[name] == '=') return true;
  }
  place.name = false;
  place.test = word == "[" || word == "test";
  if (word == "for") return For(place);
  if (word == "case") return Case(place);
  for (const BashCommand& known : kBashCommands) {
    if (word == known.word && Lacks(kPosix, word, known.instead)) return false;
  }
  if (word != "[[") return true;
  size_t end = text_.find("]]", at_);
  if (end == std::string_view::npos) return false;
  at_ = end + 2;
  return true;
}

// a+=x and a[1]=x.
bool Reader::Assignment(std::string_view word) {
  size_t name = NameLength(word);
  std::string_view rest = word.substr(name);
  if (rest.starts_with("+=")) {
    return !Lacks(kPosix, word.substr(0, name + 2), "NAME=$NAME...");
  }
  size_t close = rest.find(']');
  if (!rest.starts_with('[') || close == std::string_view::npos) return true;
  std::string_view after = rest.substr(close + 1);
  if (!after.starts_with('=') && !after.starts_with("+=")) return true;
  return !Lacks(kPosix, word.substr(0, name + close + 1), "");
}

bool Reader::For(Syntax& place) {
  SkipBlanks();
  if (StartsWith("((")) {
    if (Lacks(kPosix, text_.substr(at_, 2), "for NAME in $(seq FIRST LAST)")) return false;
    size_t end = ArithmeticEnd(at_ + 2);
    if (end == std::string_view::npos) return false;
    at_ = end;
    return true;
  }
  if (!Argument()) return false;
  SkipBlanks();
  if (!WordIs("do")) return true;
  at_ += 2;
  place.Begin();
  return true;
}

bool Reader::Case(Syntax& place) {
  auto skip = [&] {
    while (!Done() && (IsBlankOrNewline(text_[at_]) || text_[at_] == '#' || StartsWith("\\\n"))) {
      if (text_[at_] == '#') {
        SkipComment();
      } else {
        at_ += text_[at_] == '\\' ? 2 : 1;
      }
    }
  };
  if (!Argument()) return false;
  skip();
  if (!WordIs("in")) return false;
  at_ += 2;
  for (;;) {
    skip();
    if (Done()) return false;
    if (WordIs("esac")) break;
    if (text_[at_] == '(') ++at_;
    while (!Done() && text_[at_] != ')') {
      if (IsBlankOrNewline(text_[at_]) || text_[at_] == '|') {
        ++at_;
      } else if (size_t before = at_; !WordPieces(/*is_pattern=*/true) || at_ == before) {
        return false;
      }
    }
    ++at_;
    if (Done() || !Commands(End::kCaseItem)) return false;
  }
  at_ += 4;
  place = {.name = false, .test = false};
  return true;
}

bool Reader::SingleQuoted() {
  size_t close = text_.find('\'', at_ + 1);
  if (close == std::string_view::npos) return false;
  at_ = close + 1;
  return true;
}

bool Reader::DoubleQuoted() {
  ++at_;
  while (!Done()) {
    switch (text_[at_]) {
      case '"':
        ++at_;
        return true;
      case '\\':
        at_ += 2;
        break;
      case '`':
        if (backticks_ > 0 || !Backtick()) return false;
        break;
      case '$':
        if (!Dollar(/*quoted=*/true)) return false;
        break;
      default:
        ++at_;
    }
  }
  return false;
}

// A backslash in it quotes once more than elsewhere: what that makes of quotes is not followed.
bool Reader::Backtick() {
  size_t close = at_ + 1;
  while (close < text_.size() && text_[close] != '`') {
    if (text_[close] == '\\' && (At(close + 1) == '"' || At(close + 1) == '`')) return false;
    close += text_[close] == '\\' ? 2 : 1;
  }
  if (close >= text_.size()) return false;
  ++at_;
  ++backticks_;
  bool whole = Commands(End::kBacktick);
  --backticks_;
  return whole;
}

bool Reader::Dollar(bool quoted) {
  size_t start = at_;
  char next = At(at_ + 1);
  if (next == '\'' && !quoted) {
    if (Lacks(kPosix, text_.substr(start, 2), "\"$(printf '...')\"")) return false;
    at_ += 2;
    while (!Done() && text_[at_] != '\'') at_ += text_[at_] == '\\' ? 2 : 1;
    ++at_;
    return at_ <= text_.size();
  }
  if (next == '{') return Braced(quoted);
  if (next == '(') {
    if (At(at_ + 2) == '(') {
      size_t end = ArithmeticEnd(at_ + 3);
      if (end != std::string_view::npos) return Arithmetic(end);
    }
    at_ += 2;
    // Quotes begin anew.
    int outer = std::exchange(backticks_, 0);
    bool whole = Commands(End::kParen);
    backticks_ = outer;
    return whole;
  }
  size_t length = NameLength(text_.substr(start + 1));
  at_ += 1 + length;
  return length == 0 || Variable(text_.substr(start + 1, length), text_.substr(start, length + 1));
}

bool Reader::Braced(bool quoted) {
  size_t start = at_;
  at_ += 2;
  auto shown = [&] { return text_.substr(start, std::min(at_ + 1, text_.size()) - start); };
  if (At(at_) == '#' && IsNameStart(At(at_ + 1))) ++at_;
  if (At(at_) == '!' && IsNameStart(At(at_ + 1))) {
    return !Lacks(kPosix, text_.substr(start, 3), "eval") && BracedWord(quoted, false);
  }
  size_t name = at_;
  if (size_t length = NameLength(Rest()); length > 0) {
    at_ += length;
  } else if (IsDigit(At(at_))) {
    while (IsDigit(At(at_))) ++at_;
  } else if (!Done()) {
    ++at_;
  }
  std::string_view variable = text_.substr(name, at_ - name);
  char c = At(at_);
  char after = At(at_ + 1);
  bool known = IsNameStart(variable.empty() ? '\0' : variable.front());
  // ${x:-word} and its like say what is to be when the variable is not set.
  bool with_default = (c != '\0' && "-=?+"sv.find(c) != std::string_view::npos) ||
                      (c == ':' && after != '\0' && "-=?+"sv.find(after) != std::string_view::npos);
  if (known && !with_default) {
    bool lacks = false;
    if (c == '[') {
      lacks = Lacks(kPosix, shown(), "");
    } else if (c == ':') {
      lacks = Lacks(kPosix, shown(), "cut -c");
    } else if (c == '/') {
      lacks = Lacks(kPosix, shown(), "sed");
    } else if (c == '^' || c == ',') {
      lacks = Lacks(kPosix, shown(), "tr");
    } else if (c == '@' && IsNameStart(after)) {
      lacks = Lacks(kPosix, shown(), "");
    } else if (c == '}' || c == '%' || c == '#') {
      lacks = !Variable(variable, text_.substr(start, at_ - start + (c == '}' ? 1 : 0)));
    }
    if (lacks) return false;
  }
  return BracedWord(quoted, c == '%' || c == '#');
}

// To the brace that ends it.
bool Reader::BracedWord(bool quoted, bool is_pattern) {
  if (++depth_ > kDepthMax) return false;
  while (!Done()) {
    bool go_on = true;
    switch (text_[at_]) {
      case '}':
        ++at_;
        --depth_;
        return true;
      case '\\':
        at_ += 2;
        break;
      case '\'':
        if (quoted && !is_pattern) {
          ++at_;
        } else {
          go_on = SingleQuoted();
        }
        break;
      case '"':
        go_on = DoubleQuoted();
        break;
      case '`':
        go_on = backticks_ == 0 && Backtick();
        break;
      case '$':
        go_on = Dollar(quoted);
        break;
      default:
        ++at_;
    }
    if (!go_on) return false;
  }
  return false;
}

// Behind the "))" that ends what begins behind "((" at `from`; npos when that is a subshell in a
// subshell.
size_t Reader::ArithmeticEnd(size_t from) {
  int open = 0;
  for (size_t i = from; i < text_.size(); ++i) {
    if (steps_back_++ > kStepsBackMost) return std::string_view::npos;
    char c = text_[i];
    if (c == '\\') {
      ++i;
    } else if (c == '\'' || c == '"' || c == '`') {
      i = text_.find(c, i + 1);
      if (i == std::string_view::npos) return i;
    } else if (c == '(') {
      ++open;
    } else if (c == ')' && open > 0) {
      --open;
    } else if (c == ')') {
      return At(i + 1) == ')' ? i + 2 : std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

// $((...)), where variables need no dollar.
bool Reader::Arithmetic(size_t end) {
  for (at_ += 3; at_ < end;) {
    size_t length = NameLength(text_.substr(at_, end - at_));
    if (length > 0 && !Variable(text_.substr(at_, length), text_.substr(at_, length))) return false;
    at_ += length;
    if (length > 0) continue;
    // 0x1f is no name.
    if (IsDigit(text_[at_])) {
      while (at_ < end && IsNameByte(text_[at_])) ++at_;
    } else {
      ++at_;
    }
  }
  at_ = end;
  return true;
}

bool Reader::Assigns(std::string_view variable) const {
  bool reads =
      text_.find("read ") != std::string_view::npos || text_.find("for ") != std::string_view::npos;
  for (size_t at = text_.find(variable); at != std::string_view::npos;
       at = text_.find(variable, at + 1)) {
    char before = at == 0 ? ' ' : text_[at - 1];
    char after = At(at + variable.size());
    bool whole = !IsNameByte(before) && !IsNameByte(after) && before != '$' && before != '{';
    if (whole && (after == '=' || (reads && IsShellBlank(before)))) return true;
  }
  return false;
}

// True if the reader may pass it.
bool Reader::Variable(std::string_view name, std::string_view shown) {
  auto known = std::ranges::lower_bound(kBashVariables, name);
  if (known == kBashVariables.end() || *known != name) return true;
  // Looked up once: a text may have it many times.
  auto& set = set_[static_cast<size_t>(known - kBashVariables.begin())];
  if (!set) {
    set = std::ranges::find(variables_, name) != variables_.end() || Assigns(name);
  }
  if (*set) return true;
  unsigned shells = kPosix;
  if (name != "RANDOM" && name != "SECONDS") shells = kNotZsh;
  if (name == "HOSTNAME") shells = kOnlyBash;
  std::string_view instead;
  if (name == "HOSTNAME") instead = "$(hostname)";
  if (name == "UID" || name == "EUID") instead = "$(id -u)";
  return !Lacks(shells, shown, instead);
}

bool Reader::BeginHereDocument() {
  HereDocument document;
  at_ += 2;
  if (At(at_) == '-') {
    document.tabs = true;
    ++at_;
  }
  SkipBlanks();
  while (!Done() && !EndsWord(text_[at_])) {
    char c = text_[at_];
    if (c == '\'' || c == '"') {
      size_t close = text_.find(c, at_ + 1);
      if (close == std::string_view::npos) return false;
      document.end += text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
      continue;
    }
    if (c == '\\') ++at_;
    if (!Done()) document.end += text_[at_++];
  }
  here_documents_.push_back(std::move(document));
  return true;
}

bool Reader::HereDocuments() {
  for (const HereDocument& document : std::exchange(here_documents_, {})) {
    for (;;) {
      if (Done()) return false;
      size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (document.tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == document.end) break;
    }
  }
  return true;
}

}  // namespace

std::optional<BashText> FindBashText(std::string_view text, ShellKind kind,
                                     std::span<const std::string> variables) {
  if (kind == ShellKind::kBash || kind == ShellKind::kOther || !MayHoldBash(text)) {
    return std::nullopt;
  }
  return ReadBashText(text, kind, variables);
}

std::optional<BashText> ReadBashText(std::string_view text, ShellKind kind,
                                     std::span<const std::string> variables) {
  if (kind == ShellKind::kBash || kind == ShellKind::kOther) return std::nullopt;
  return Reader(text, kind, variables).Find();
}

std::optional<BashText> FindBashTextInArgv(std::span<const std::string> argv,
                                           std::span<const std::string> variables) {
  if (argv.size() < 3) return std::nullopt;
  ShellKind kind = KindOfShellName(argv.front());
  for (size_t i = 1; i + 1 < argv.size(); ++i) {
    const std::string& word = argv[i];
    bool option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
    if (!option) return std::nullopt;
    if (word.front() == '-' && word[1] != '-' && word.ends_with('c')) {
      return FindBashText(argv[i + 1], kind, variables);
    }
  }
  return std::nullopt;
}

std::span<const std::string_view> BashVariables() { return kBashVariables; }

}  // namespace spate::format
