// BarScreen: a screen with the bar in its last line. Everything that is written to a terminal goes
// above the bar: it is erased first, and the owner draws it again.
#pragma once

#include <string>
#include <string_view>

#include "cli/view/screen.h"

namespace spate::cli {

class BarScreen final : public Screen {
 public:
  explicit BarScreen(Screen& inner) : inner_(inner) {}

  void Write(Stream stream, std::string_view bytes) override;
  void WriteFile(Stream stream, FilePart part) override;
  uint64_t Backlog() const override { return inner_.Backlog(); }
  bool IsTerminal(Stream stream) const override { return inner_.IsTerminal(stream); }
  int Width() const override { return inner_.Width(); }
  bool Colour() const override { return inner_.Colour(); }
  bool MayDraw() const override { return inner_.MayDraw(); }

  // `line` as DrawBar makes it. An equal bar is not drawn again.
  void ShowBar(std::string_view line);
  void EraseBar();
  bool bar_visible() const { return !shown_.empty(); }

 private:
  // Before bytes for a terminal that end as told.
  void BeforeWrite(Stream stream, bool ends_line);

  Screen& inner_;
  std::string shown_;          // the bar on the screen; empty: none
  bool at_line_start_ = true;  // of the terminal
};

}  // namespace spate::cli
