// BarScreen: a screen with the bar in its last line. What is written to a terminal goes above the
// bar, which stays: it is erased and drawn again in the same write. A line that a task has left
// open goes on where it ended.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "view/screen.h"

namespace spate::cli {

class BarScreen final : public Screen {
 public:
  explicit BarScreen(Screen& inner) : inner_(inner) {}

  // The tasks' output. The bar is away afterwards, until it is shown again, when the terminal does
  // not take what is written as fast as it comes, or when it cannot be known where an open line
  // ends.
  void Write(Stream stream, std::string_view bytes) override;
  void WriteFile(Stream stream, FilePart part) override;
  // Whole lines of ours, on standard error; never behind an open line if the bar is there.
  void WriteLines(std::string_view text);
  uint64_t Backlog() const override { return inner_.Backlog(); }
  bool IsTerminal(Stream stream) const override { return inner_.IsTerminal(stream); }
  ScreenLook Inspect() const override { return inner_.Inspect(); }

  // `line` as DrawBar makes it. An equal bar is not drawn again.
  void ShowBar(std::string_view line);
  // Sets the bar to draw when output is next written, if the bar is visible then.
  void SetNextBar(std::string line) { next_ = std::move(line); }
  void EraseBar();
  bool bar_visible() const { return !shown_.empty(); }

 private:
  // Text that erases the bar and returns to the end of the open line.
  std::string MakeRoom();
  void NoteOutput(std::string_view bytes);
  bool CanReturn() const;
  // Text that draws the bar again below the output; empty when it stays away.
  std::string BarAgain();

  Screen& inner_;
  std::string shown_;      // the bar on the screen; empty: none
  std::string next_;       // a newer one; empty: none
  std::string open_line_;  // the end of the output, without its newline; above the bar when shown
  int width_ = 0;          // when the bar was drawn last
};

}  // namespace spate::cli
