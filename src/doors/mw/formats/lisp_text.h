// The part of Lisp's printed text that CL-MW 0.4 writes into files: lists, strings and symbols.
// Nothing of it is ever evaluated.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::mw {

// Lists may lie this deep in one another, and so may comments; anything deeper is hostile.
inline constexpr size_t kLispDepthMax = 64;

// `bytes` as a string of Lisp: in double quotes, with a backslash before each `"` and `\`. All
// other bytes stand as they are, also newlines.
std::string LispString(std::string_view bytes);
// Symbols of Lisp: the case of ASCII letters does not count.
bool SameSymbol(std::string_view a, std::string_view b);

struct LispToken {
  enum class Kind { kOpen, kClose, kString, kAtom, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // of a string what it says, of an atom its bytes as they stand
  size_t line = 1;   // where it begins
};

// Takes a text apart, one token after the other, in time and memory of its size. It refers to the
// text and to the path, which is that of the file, for errors.
class LispTokens {
 public:
  LispTokens(std::string_view text, std::string_view path) : text_(text), path_(path) {}

  // Blanks, comments (`;` to the end of the line, `#| |#` within one another) and the quotes before
  // a form (' ` ,) do not count. kEnd comes again and again. kInvalid: something is open at the
  // end, a list is closed that was not opened, or lists lie too deep. After an error the tokens
  // mean nothing.
  Result<LispToken> Next();
  // Goes on until only `depth` lists are open, which is now or after a later token.
  Status SkipTo(size_t depth);
  // Lists that are open.
  size_t depth() const { return open_.size(); }

  // An error of the form "PATH:LINE: what".
  std::unexpected<Error> Wrong(size_t line, std::string_view what) const;

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  bool LooksAt(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void Advance();
  Status SkipBlanks();
  Status SkipComment();
  Result<LispToken> String();
  Result<LispToken> Atom();
  Result<LispToken> End() const;

  std::string_view text_;
  std::string_view path_;
  size_t at_ = 0;
  size_t line_ = 1;
  std::vector<size_t> open_;  // the line of each open list
};

}  // namespace spate::mw
