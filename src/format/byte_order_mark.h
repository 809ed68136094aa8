// The byte order mark (RFC 3629, section 6) that editors of Windows begin a file of UTF-8 with.
#pragma once

#include <string_view>

namespace spate::format {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

}  // namespace spate::format
