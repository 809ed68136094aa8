// --colsep: cuts a value into columns.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::format {

class ColumnSplitter {
 public:
  // `separator` is a POSIX extended regular expression with what people know from Perl: \t \n \r
  // \d \D \s \S \w \W. Most are plain text and searched as such. Errors: not a regular
  // expression, one that only Perl knows, one that matches nothing at all between any two bytes.
  static Result<ColumnSplitter> Make(std::string_view separator);
  // For values whose columns are joined by NUL bytes already.
  static ColumnSplitter AtNul();

  // Views into `value`; at least one. Empty columns count, also at the end.
  void Split(std::string_view value, std::vector<std::string_view>& columns) const;

 private:
  struct Regex;
  std::string literal_;                 // when regex_ is null
  std::shared_ptr<const Regex> regex_;  // immutable
};

}  // namespace spate::format
