// Reads a job list piece by piece, as it comes from a file or pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/list_line.h"

namespace spate::format {

// Cuts pieces of text, split anywhere, into lines. Takes LF and CR LF, a last line without its
// newline, and skips a UTF-8 byte order mark at the start.
class LineSplitter {
 public:
  struct Line {
    uint64_t number = 0;    // from 1
    std::string_view text;  // without its end; valid until the next call
    bool cut = false;       // the line was longer than the limit; the rest of it was dropped
  };

  // No more than `limit` bytes of a line are kept.
  explicit LineSplitter(size_t limit) : limit_(limit) {}

  // `piece` must stay valid until Next() has returned nullopt, which must come before the next
  // call of Feed.
  void Feed(std::string_view piece);
  // No more pieces come: what is left is the last line.
  void Finish() { finished_ = true; }
  // The next complete line; nullopt when it takes more text (or, after Finish, at the end).
  std::optional<Line> Next();
  // After that nullopt: what has come of the line whose end has not.
  std::string_view unfinished() const { return carry_; }

 private:
  std::optional<Line> AcceptLine(std::string_view text);

  size_t limit_;
  std::string_view piece_;  // what Feed brought and Next has not looked at
  std::string carry_;       // the start of a line whose end has not come
  bool carrying_ = false;   // carry_ counts, even when it is empty
  bool carry_returned_ = false;
  bool carry_cut_ = false;
  bool at_start_ = true;
  bool finished_ = false;
  uint64_t lines_ = 0;
};

// The tasks of a job list: what is left of its lines without comments and blank ones. A line that
// ends in an odd number of backslashes continues in the next one, as in a shell: the last backslash
// and the end of the line vanish. Comments do not continue.
class JobListReader {
 public:
  struct Entry {
    uint64_t line = 0;        // from 1, of all lines of the text; the first one of a command
    std::string_view row;     // what Expand takes; valid until the next call
    Result<ListLine> parsed;  // an error that does not name the place: the caller adds it
  };

  // `until`: the line that ends the list and is not a task; blanks around it do not matter. Empty:
  // the list ends with its text.
  explicit JobListReader(std::string_view until = "");
  // Same contract as LineSplitter's.
  void Feed(std::string_view piece) { lines_.Feed(piece); }
  void Finish() {
    lines_.Finish();
    finished_ = true;
  }
  std::optional<Entry> Next();
  // The line `until` was read; no entry follows.
  bool ended() const { return ended_; }
  // The text read so far ends with it, but for its newline.
  bool may_have_ended() const {
    return !until_.empty() && !joining_ && lines_.unfinished() == until_;
  }

 private:
  std::optional<LineSplitter::Line> NextCommand();

  LineSplitter lines_;
  std::string joined_;  // a command that continues, as far as it was read
  uint64_t first_line_ = 0;
  bool joining_ = false;  // the next line belongs to it
  bool finished_ = false;
  std::string until_;
  bool ended_ = false;
};

}  // namespace spate::format
