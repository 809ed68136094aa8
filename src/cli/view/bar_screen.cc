#include "cli/view/bar_screen.h"

#include "os/file.h"

namespace spate::cli {
namespace {

// Back to the first column; clear to the end of the line.
constexpr std::string_view kErase = "\r\x1b[K";

bool EndsLine(const FilePart& part) {
  auto file = os::OpenRead(part.path);
  if (!file || part.length == 0) return true;
  auto last = os::ReadAt(file->get(), part.offset + part.length - 1, 1, part.path);
  return last && *last == "\n";
}

}  // namespace

void BarScreen::BeforeWrite(Stream stream, bool ends_line) {
  if (!inner_.IsTerminal(stream)) return;
  EraseBar();
  at_line_start_ = ends_line;
}

void BarScreen::Write(Stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  BeforeWrite(stream, bytes.back() == '\n');
  inner_.Write(stream, bytes);
}

void BarScreen::WriteFile(Stream stream, FilePart part) {
  if (part.length == 0) return;
  if (inner_.IsTerminal(stream)) BeforeWrite(stream, EndsLine(part));
  inner_.WriteFile(stream, std::move(part));
}

void BarScreen::ShowBar(std::string_view line) {
  if (line == shown_ || line.empty() || !inner_.MayDraw()) return;
  std::string bytes;
  // A line that a task left open is ended, or the bar would overwrite it.
  if (!at_line_start_) bytes += "\n";
  at_line_start_ = true;
  bytes += kErase;
  bytes += line;
  inner_.Write(Stream::kErr, bytes);
  shown_ = line;
}

void BarScreen::EraseBar() {
  if (shown_.empty()) return;
  inner_.Write(Stream::kErr, kErase);
  shown_.clear();
}

}  // namespace spate::cli
