#include "doors/pmc/formats/escape.h"

#include <fmt/format.h>

#include <iterator>

namespace spate::pmc {

std::string Escape(std::string_view text, std::string_view special) {
  std::string escaped;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || special.find(c) != std::string_view::npos) {
      fmt::format_to(std::back_inserter(escaped), "%{:02X}", byte);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace spate::pmc
