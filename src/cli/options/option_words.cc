#include "cli/options/option_words.h"

#include <fmt/format.h>

#include <utility>

namespace spate::cli {

Result<std::vector<std::string>> SplitOptionWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun, be it empty
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes) {
      word += text[++i];
      open = true;
    } else if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (std::exchange(open, false)) words.push_back(std::exchange(word, {}));
    } else if (c == '#' && !open) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote != '\0') {
    return Fail(ErrorKind::kInvalid, fmt::format("a quote ({}) is not closed", quote));
  }
  if (open) words.push_back(std::move(word));
  return words;
}

}  // namespace spate::cli
