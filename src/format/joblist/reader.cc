// LineSplitter hands out views into the caller's piece; only a line that lies in two pieces is
// copied. Its invariant: carry_ never holds a newline and never more than limit_ + 3 bytes.

#include "format/joblist/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "core/model/limits.h"
#include "format/byte_order_mark.h"
#include "format/script_line.h"

namespace spate::format {
namespace {

constexpr size_t kLongest = kLimits.argv_bytes + kLimits.shell_text_bytes;  // bytes of a command

}  // namespace

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

namespace {

// Why the line, a comment to everybody but disBatch, may not be passed over; empty: it may.
std::string WhyDisBatch(std::string_view row) {
  constexpr std::string_view kMark = "#DISBATCH ";
  if (!row.starts_with(kMark)) return "";
  return fmt::format(
      "'{}' is an instruction of disBatch, which spate does not support; write PREFIX and SUFFIX "
      "into each line, a line for each REPEAT, and what follows a BARRIER into another list (or "
      "order the tasks with {{name NAME}} and {{after NAME}})",
      EscapeForScreen(row.substr(0, row.find(' ', kMark.size()))));
}

}  // namespace

JobListReader::JobListReader(std::string_view until) : lines_(kLongest), until_(TrimLine(until)) {}

std::optional<LineSplitter::Line> JobListReader::NextCommand() {
  while (auto line = lines_.Next()) {
    std::string_view text = line->text;
    ended_ = ended_ || (!until_.empty() && !joining_ && TrimLine(text) == until_);
    if (ended_) continue;                                 // the splitter has to be emptied
    if (!joining_ && !text.ends_with('\\')) return line;  // nearly all
    if (!std::exchange(joining_, true)) {
      first_line_ = line->number;
      joined_.clear();
    }
    joined_ += text;
    const bool cut = line->cut || joined_.size() > kLongest;
    const size_t slashes = text.size() - (text.find_last_not_of('\\') + 1);  // npos + 1 is 0
    joining_ = slashes % 2 == 1 && !cut && (!text.contains('#') || !EndsInComment(joined_));
    if (!joining_) return LineSplitter::Line{first_line_, joined_, cut};
    joined_.pop_back();
  }
  return std::nullopt;
}

std::optional<JobListReader::Entry> JobListReader::Next() {
  while (auto line = NextCommand()) {
    std::string_view row = TrimLine(line->text);
    if (std::string why = WhyDisBatch(row); !why.empty()) {
      return Entry{line->number, row, Fail(ErrorKind::kInvalid, std::move(why))};
    }
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
  if (!finished_ || !std::exchange(joining_, false)) return std::nullopt;
  return Entry{first_line_,
               {},
               Fail(ErrorKind::kInvalid,
                    "the command ends in a backslash, but the list has no line after it; write the "
                    "rest of the command, or remove the backslash")};
}

}  // namespace spate::format
