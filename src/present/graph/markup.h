// Names of tasks inside XML and Graphviz text.
#pragma once

#include <string>
#include <string_view>

namespace spate::present {

// Any bytes as text or attribute value of XML 1.0: control bytes and what is no UTF-8 as
// EscapeForScreen has them, noncharacters as U+FFFD.
std::string XmlText(std::string_view text);

// Any bytes as a label of Graphviz that shows just them, quotes included. In a tooltip "\N" still
// becomes the node's name, whatever is done to it.
std::string DotQuoted(std::string_view text);

}  // namespace spate::present
