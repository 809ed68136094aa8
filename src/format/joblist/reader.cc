// LineSplitter hands out views into the caller's piece; only a line that lies in two pieces is
// copied. Its invariant: carry_ never holds a newline and never more than limit_ + 3 bytes.

#include "format/joblist/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/units.h"
#include "core/model/limits.h"
#include "format/byte_order_mark.h"

namespace spate::format {

void LineSplitter::Feed(std::string_view piece) {
  CHECK(piece_.empty());
  CHECK(!finished_);
  piece_ = piece;
}

std::optional<LineSplitter::Line> LineSplitter::AcceptLine(std::string_view text) {
  if (at_start_) text = WithoutByteOrderMark(text);
  at_start_ = false;
  Line line{.number = ++lines_, .text = text};
  if (text.size() > limit_ || carry_cut_) {
    line.text = text.substr(0, limit_);
    line.cut = true;
    return line;
  }
  if (text.ends_with('\r')) line.text.remove_suffix(1);
  return line;
}

std::optional<LineSplitter::Line> LineSplitter::Next() {
  if (carry_returned_) {
    carry_.clear();
    carry_returned_ = carrying_ = carry_cut_ = false;
  }
  const char* found =
      piece_.empty() ? nullptr
                     : static_cast<const char*>(std::memchr(piece_.data(), '\n', piece_.size()));
  size_t length = found == nullptr ? piece_.size() : static_cast<size_t>(found - piece_.data());
  std::string_view text = piece_.substr(0, length);
  piece_.remove_prefix(std::min(length + 1, piece_.size()));
  if (found != nullptr && !carrying_) return AcceptLine(text);

  // The mark at the start does not count, and one byte more tells that the line is too long.
  size_t room = limit_ + kByteOrderMark.size() - std::min(limit_ + 3, carry_.size());
  carry_cut_ = carry_cut_ || text.size() > room;
  carry_ += text.substr(0, room);
  carrying_ = carrying_ || !text.empty();
  if (found == nullptr && !(finished_ && carrying_)) return std::nullopt;
  carry_returned_ = true;
  return AcceptLine(carry_);
}

JobListReader::JobListReader() : lines_(kLimits.argv_bytes + kLimits.shell_text_bytes) {}

std::optional<JobListReader::Entry> JobListReader::Next() {
  while (auto line = lines_.Next()) {
    std::string_view row = TrimLine(line->text);
    if (IsIgnoredLine(row)) continue;
    if (line->cut) {
      return Entry{
          line->number, row,
          Fail(ErrorKind::kInvalid,
               fmt::format(
                   "the line is longer than {} bytes, which is too long for a command; put the "
                   "command into a script and call that (or is this not a list of commands?)",
                   FormatCount(row.size())))};
    }
    return Entry{line->number, row, ParseListLine(row)};
  }
  return std::nullopt;
}

}  // namespace spate::format
