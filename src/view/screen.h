// Screen: where a run is shown. The real one writes on a thread of its own
// (view/terminal_screen.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace spate::cli {

enum class Stream : uint8_t { kOut = 1, kErr = 2 };

// `length` bytes of a file from `offset`. The owner keeps the file there until it is written.
struct FilePart {
  std::string path;
  uint64_t offset = 0;
  uint64_t length = 0;
  std::shared_ptr<const void> owner;
};

// The terminal at standard error, now.
struct ScreenLook {
  int width = 80;  // columns; 80 when it is not known
  bool colour = false;
  bool may_draw = false;  // false while the process is in the background of the terminal
};

class Screen {
 public:
  virtual ~Screen() = default;
  // Queued. Output appears in the order of the calls, whichever stream they name.
  virtual void Write(Stream stream, std::string_view bytes) = 0;
  virtual void WriteFile(Stream stream, FilePart part) = 0;
  // Bytes in memory that wait to be written. The run starts nothing more while it is high.
  virtual uint64_t Backlog() const = 0;

  // True if the bar shares its terminal: for kErr, it may be drawn there; for kOut, the bar must be
  // out of the way of what is written.
  virtual bool IsTerminal(Stream stream) const = 0;
  virtual ScreenLook Inspect() const = 0;
};

}  // namespace spate::cli
