// Widths by ranges of code points: a static program has no locales, so wcwidth knows none of them.
#include "present/table/text_width.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace spate::present {
namespace {

struct Range {
  char32_t first, last;
};

// Sorted. East Asian wide and full-width forms, and emoji.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26AA, 0x26AB},
    {0x26BD, 0x26BE},   {0x26CE, 0x26CE},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x2753, 0x2757},   {0x2795, 0x2797},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
    {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF},
    {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A}, {0x1F200, 0x1F320},
    {0x1F32D, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F7E0, 0x1F7F0}, {0x1F900, 0x1FAFF},
    {0x20000, 0x3FFFD}};

// Sorted. Combining marks, joiners, marks of direction, variation selectors.
constexpr Range kNone[] = {{0x0300, 0x036F}, {0x0483, 0x0489},  {0x0591, 0x05BD}, {0x0610, 0x061A},
                           {0x061C, 0x061C}, {0x064B, 0x065F},  {0x200B, 0x200F}, {0x202A, 0x202E},
                           {0x2060, 0x206F}, {0x20D0, 0x20F0},  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
                           {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};

template <size_t kCount>
bool In(const Range (&ranges)[kCount], char32_t c) {
  const Range* at = std::ranges::lower_bound(ranges, c, {}, &Range::last);
  return at != std::end(ranges) && c >= at->first;
}

size_t WidthOf(char32_t c) {
  if (c < 0x300) return 1;
  if (In(kNone, c)) return 0;
  return In(kWide, c) ? 2 : 1;
}

// The code point at the start of `text`, which is not empty; removes it.
char32_t TakeCodePoint(std::string_view& text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = byte(0) < 0xC0 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  length = std::min(length, text.size());
  char32_t c = length == 1 ? byte(0) : byte(0) & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) c = c << 6 | (byte(i) & 0x3Fu);
  text.remove_prefix(length);
  return c;
}

// The bytes of as much of `text` as fits into `columns`.
size_t FitBytes(std::string_view text, size_t columns) {
  std::string_view rest = text;
  size_t end = 0;
  for (size_t used = 0; !rest.empty();) {
    used += WidthOf(TakeCodePoint(rest));
    if (used > columns) break;
    end = text.size() - rest.size();
  }
  return end;
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) width += WidthOf(TakeCodePoint(text));
  return width;
}

std::string CutToWidth(std::string_view text, size_t columns) {
  if (columns >= kWholeWidth || FitBytes(text, columns) == text.size()) return std::string(text);
  std::string_view mark = columns > 3 ? "..." : "";
  return std::string(text.substr(0, FitBytes(text, columns - mark.size()))).append(mark);
}

std::string WrapToWidth(std::string_view text, size_t columns, size_t indent, size_t used) {
  if (columns >= kWholeWidth) return std::string(text);
  std::string out;
  size_t room = columns > used ? columns - used : 2;
  for (;;) {
    // At least one code point, however narrow the place is.
    size_t bytes = FitBytes(text, std::max<size_t>(room, 2));
    if (bytes == text.size()) return out.append(text);
    size_t cut = bytes;
    if (text[bytes] != ' ') {
      size_t blank = text.substr(0, bytes).rfind(' ');
      if (blank != std::string_view::npos && blank > 0) cut = blank;
    }
    out.append(text.substr(0, cut));
    text.remove_prefix(cut);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return out;
    out.append("\n").append(indent, ' ');
    room = columns > indent ? columns - indent : 2;
  }
}

std::string WrapMessage(std::string_view text, size_t columns) {
  constexpr size_t kFewest = 20;
  if (columns < kFewest) return std::string(text);
  std::string out;
  for (size_t used = 0; !text.empty();) {
    const bool command = text.starts_with("spate ") || text.starts_with("(spate ");
    const size_t last = command ? text.find_first_of(";)\n") : 0;
    const size_t end = std::min(text.find_first_of(" \n", last), text.size());
    const size_t width = DisplayWidth(text.substr(0, end));
    if (used + width > columns && out.ends_with(' ')) {
      out.back() = '\n';
      used = 0;
    }
    out += text.substr(0, end + 1);  // with the blank or line end
    used = out.ends_with('\n') ? 0 : used + width + 1;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace spate::present
