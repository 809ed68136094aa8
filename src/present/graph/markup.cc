#include "present/graph/markup.h"

#include "base/units.h"

namespace spate::present {
namespace {

// U+FFFE and U+FFFF, which no XML may contain.
bool IsNoncharacter(std::string_view text) {
  return text.starts_with("\xef\xbf\xbe") || text.starts_with("\xef\xbf\xbf");
}

}  // namespace

std::string XmlText(std::string_view text) {
  std::string clean = EscapeForScreen(text), out;
  out.reserve(clean.size());
  for (size_t i = 0; i < clean.size(); ++i) {
    if (IsNoncharacter(std::string_view(clean).substr(i))) {
      out += "\xef\xbf\xbd";
      i += 2;
      continue;
    }
    switch (clean[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += clean[i];
    }
  }
  return out;
}

// Graphviz reads \N and the like and HTML's entities in labels, too.
std::string DotQuoted(std::string_view text) {
  std::string out = "\"";
  for (char c : EscapeForScreen(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
    if (c == '&') out += "amp;";
  }
  return out + '"';
}

}  // namespace spate::present
