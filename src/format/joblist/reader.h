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

// The tasks of a job list: what is left of its lines without comments and blank ones.
class JobListReader {
 public:
  struct Entry {
    uint64_t line = 0;        // from 1, of all lines of the text
    std::string_view row;     // what Expand takes; valid until the next call
    Result<ListLine> parsed;  // an error that does not name the place: the caller adds it
  };

  JobListReader();
  // As LineSplitter's.
  void Feed(std::string_view piece) { lines_.Feed(piece); }
  void Finish() { lines_.Finish(); }
  std::optional<Entry> Next();

 private:
  LineSplitter lines_;
};

}  // namespace spate::format
