// The grammar, as far as CL-MW's files need it:
//
//   Text   = Form*
//   Form   = "(" Form* ")" | String | Atom
//   String = '"' (any byte but " and \ | "\" any byte)* '"'
//   Atom   = bytes up to a blank or one of ( ) " ' ` , ;   where "\" takes the next byte with it,
//            and "|" all up to the next "|"
//
// Lists are counted, not called: a hostile text costs no stack. Forms that begin with # (vectors,
// characters, #.) fall apart into atoms and lists, which is enough to skip them.

#include "doors/mw/formats/lisp_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace spate::mw {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";
constexpr std::string_view kPrefixes = "'`,";
constexpr std::string_view kAtomEnds = " \t\n\r\f\v()\"'`,;";
constexpr std::string_view kCutOff =
    "the file is cut off or damaged: copy it again, or let its master write the next one";

bool IsOneOf(char c, std::string_view bytes) { return bytes.find(c) != std::string_view::npos; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string LispString(std::string_view bytes) {
  std::string quoted = "\"";
  for (char c : bytes) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

bool SameSymbol(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

std::unexpected<Error> LispTokens::Wrong(size_t line, std::string_view what) const {
  return Fail(ErrorKind::kInvalid, fmt::format("{}:{}: {}", EscapeForScreen(path_), line, what));
}

void LispTokens::Advance() {
  if (text_[at_++] == '\n') ++line_;
}

Status LispTokens::SkipComment() {
  size_t begin = line_;
  size_t depth = 0;
  do {
    bool opens = LooksAt("#|");
    if (AtEnd()) {
      return Wrong(begin, fmt::format("the comment that begins here has no |#; {}", kCutOff));
    }
    if (opens || LooksAt("|#")) {
      depth = opens ? depth + 1 : depth - 1;
      Advance();
    }
    if (depth > kLispDepthMax) {
      return Wrong(line_, fmt::format("more than {} comments lie within one another: take some out",
                                      kLispDepthMax));
    }
    Advance();
  } while (depth > 0);
  return {};
}

Status LispTokens::SkipBlanks() {
  while (!AtEnd()) {
    if (LooksAt(";")) {
      while (!AtEnd() && text_[at_] != '\n') Advance();
    } else if (LooksAt("#|")) {
      TRY(SkipComment());
    } else if (IsOneOf(text_[at_], kBlanks) || IsOneOf(text_[at_], kPrefixes)) {
      Advance();
    } else {
      break;
    }
  }
  return {};
}

Result<LispToken> LispTokens::String() {
  LispToken token{LispToken::Kind::kString, {}, line_};
  for (Advance(); !AtEnd() && text_[at_] != '"'; Advance()) {
    if (text_[at_] == '\\') Advance();
    if (AtEnd()) break;
    token.text += text_[at_];
  }
  if (AtEnd()) {
    return Wrong(token.line, fmt::format("the string that begins here has no end; {}", kCutOff));
  }
  Advance();
  return token;
}

Result<LispToken> LispTokens::Atom() {
  LispToken token{LispToken::Kind::kAtom, {}, line_};
  size_t begin = at_;
  bool bars = false;
  while (!AtEnd() && (bars || !IsOneOf(text_[at_], kAtomEnds))) {
    if (text_[at_] == '|') bars = !bars;
    if (text_[at_] == '\\') Advance();
    if (!AtEnd()) Advance();
  }
  if (bars) {
    return Wrong(token.line,
                 fmt::format("the symbol in | | that begins here has no end; {}", kCutOff));
  }
  token.text = text_.substr(begin, at_ - begin);
  return token;
}

Result<LispToken> LispTokens::End() const {
  if (!open_.empty()) {
    return Wrong(open_.front(), fmt::format("the list that begins here has no end; {}", kCutOff));
  }
  return LispToken{LispToken::Kind::kEnd, {}, line_};
}

Result<LispToken> LispTokens::Next() {
  TRY(SkipBlanks());
  if (AtEnd()) return End();
  if (LooksAt("\"")) return String();
  if (!LooksAt("(") && !LooksAt(")")) return Atom();
  LispToken token{LooksAt("(") ? LispToken::Kind::kOpen : LispToken::Kind::kClose, {}, line_};
  Advance();
  if (token.kind == LispToken::Kind::kOpen) {
    if (depth() == kLispDepthMax) {
      return Wrong(line_, fmt::format("lists are nested more than {} deep: this is not a file of "
                                      "CL-MW, so name another one",
                                      kLispDepthMax));
    }
    open_.push_back(line_);
  } else if (open_.empty()) {
    return Wrong(line_, "this ) has no ( before it: take it out");
  } else {
    open_.pop_back();
  }
  return token;
}

Status LispTokens::SkipTo(size_t depth) {
  while (open_.size() > depth) {
    TRY(Next());
  }
  return {};
}

}  // namespace spate::mw
