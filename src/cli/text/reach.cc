#include "cli/text/reach.h"

#include <algorithm>

namespace spate::cli {

std::string Reaching(std::string text, std::string_view reach) {
  if (reach.empty()) return text;
  for (std::string_view before : {"spate job ", "spate node ", "spate hub access "}) {
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
      at += before.size();
      size_t end = std::min(text.find_first_of(" ;,\n", at), text.size());
      text.insert(end, reach);
      at = end + reach.size();
    }
  }
  return text;
}

}  // namespace spate::cli
