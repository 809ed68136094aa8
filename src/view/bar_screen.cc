// The cursor is at the end of the bar when it is shown, else at the end of the open line. An open
// line that is not empty is directly above the bar. One write for all: a terminal that is looked at
// in between would have no bar.
#include "view/bar_screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "os/file.h"

namespace spate::cli {
namespace {

// Back to the first column; clear to the end of the line.
constexpr std::string_view kErase = "\r\x1b[K";
constexpr std::string_view kUp = "\x1b[A";
// With so many bytes waiting the terminal is slow, and need not be given the bar with each line.
constexpr uint64_t kSlowBytes = 16 << 10;
constexpr size_t kOpenLineMost = 1000;

bool EndsLine(const FilePart& part) {
  auto file = os::OpenRead(part.path);
  if (!file || part.length == 0) return true;
  auto last = os::ReadAt(file->get(), part.offset + part.length - 1, 1, part.path);
  return last && *last == "\n";
}

bool IsPlain(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

// Only of plain characters it is known how many columns they take.
bool BarScreen::CanReturn() const {
  return open_line_.size() < static_cast<size_t>(std::max(width_, 0)) &&
         std::all_of(open_line_.begin(), open_line_.end(), IsPlain);
}

std::string BarScreen::MakeRoom() {
  if (shown_.empty()) return "";
  std::string bytes(kErase);
  if (open_line_.empty()) return bytes;
  if (CanReturn() && inner_.Inspect().width == width_) {
    return bytes + fmt::format("{}\x1b[{}C", kUp, open_line_.size());
  }
  open_line_.clear();  // it was ended to draw the bar, and stays so
  return bytes;
}

void BarScreen::NoteOutput(std::string_view bytes) {
  size_t newline = bytes.rfind('\n');
  if (newline != std::string_view::npos) {
    open_line_ = bytes.substr(newline + 1);
  } else {
    open_line_ += bytes;
  }
  if (open_line_.size() > kOpenLineMost) open_line_.resize(kOpenLineMost);
}

std::string BarScreen::BarAgain() {
  ScreenLook look = inner_.Inspect();
  bool again =
      CanReturn() && look.width == width_ && inner_.Backlog() < kSlowBytes && look.may_draw;
  if (!again) {
    shown_.clear();
    return "";
  }
  if (!next_.empty()) shown_ = std::exchange(next_, {});
  return (open_line_.empty() ? "" : "\n") + shown_;
}

void BarScreen::Write(Stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  if (!inner_.IsTerminal(stream)) return inner_.Write(stream, bytes);
  if (shown_.empty()) {
    NoteOutput(bytes);
    return inner_.Write(stream, bytes);
  }
  std::string all = MakeRoom();
  NoteOutput(bytes);
  all += bytes;
  all += BarAgain();
  inner_.Write(stream, all);
}

void BarScreen::WriteFile(Stream stream, FilePart part) {
  if (part.length == 0) return;
  if (!inner_.IsTerminal(stream)) return inner_.WriteFile(stream, std::move(part));
  bool was_shown = bar_visible();
  if (was_shown) inner_.Write(stream, MakeRoom());
  NoteOutput(EndsLine(part) ? "\n" : "\t");
  inner_.WriteFile(stream, std::move(part));
  if (std::string bar = was_shown ? BarAgain() : ""; !bar.empty()) inner_.Write(stream, bar);
}

void BarScreen::WriteLines(std::string_view text) {
  if (shown_.empty()) return Write(Stream::kErr, text);
  open_line_.clear();
  std::string all(kErase);
  all += text;
  all += BarAgain();
  inner_.Write(Stream::kErr, all);
}

void BarScreen::ShowBar(std::string_view line) {
  next_.clear();
  if (line == shown_ || line.empty() || !inner_.Inspect().may_draw) return;
  std::string bytes;
  // A line that a task left open is ended, or the bar would overwrite it.
  if (shown_.empty() && !open_line_.empty()) bytes += "\n";
  bytes += kErase;
  bytes += line;
  inner_.Write(Stream::kErr, bytes);
  shown_ = line;
  width_ = inner_.Inspect().width;
}

void BarScreen::EraseBar() {
  if (shown_.empty()) return;
  inner_.Write(Stream::kErr, kErase);
  shown_.clear();
  open_line_.clear();
}

}  // namespace spate::cli
