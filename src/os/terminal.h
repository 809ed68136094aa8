// Terminals, and output that must not hold up the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/loop.h"

namespace spate::os {

inline constexpr int kStdin = 0;
inline constexpr int kStdout = 1;
inline constexpr int kStderr = 2;

struct TerminalFacts {
  bool is_terminal = false;
  bool may_colour = false;  // a terminal, TERM is not "dumb", NO_COLOR is not set
  bool may_move = false;    // a terminal whose cursor obeys: TERM is set and not "dumb"
  bool is_utf8 = false;     // by LC_ALL, LC_CTYPE or LANG
};
TerminalFacts LookAtTerminal(int fd, const Environment& environment);
// Columns of the terminal now, else $COLUMNS, else 80.
uint32_t TerminalWidth(int fd, const Environment& environment);
// Columns for what is printed once: $COLUMNS, else those of the terminal, at least 40. None for a
// pipe or a file: who reads it wants it whole.
std::optional<uint32_t> PrintWidth(int fd, const Environment& environment);
// Rows of the terminal now, else 24.
uint32_t TerminalHeight(int fd);

struct WindowSize {
  uint16_t rows = 24;
  uint16_t columns = 80;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};
// Size of the terminal now; 24 by 80 where it does not tell.
WindowSize WindowOf(int fd);

// A terminal of our own making: what is written to the master is typed at the terminal.
struct TerminalPair {
  Fd master;         // does not block
  Fd terminal;       // to be kept open until somebody else has it open
  std::string path;  // of the terminal
};
Result<TerminalPair> MakeTerminal(WindowSize size);
// The processes at the terminal get SIGWINCH.
void SetWindow(int master, WindowSize size);

// A terminal that hands on each key at once, shows none, and makes no signals of them; it is as it
// was before when this goes.
class KeyTerminal {
 public:
  // kRaw: nothing that is written to it is changed either, for bytes of another terminal.
  enum class Output : uint8_t { kCooked, kRaw };
  static Result<KeyTerminal> Enter(int fd, Output output = Output::kCooked);
  ~KeyTerminal();
  KeyTerminal(KeyTerminal&& other) noexcept;
  KeyTerminal& operator=(KeyTerminal&&) = delete;

 private:
  struct Before;
  KeyTerminal(int fd, std::unique_ptr<Before> before);

  int fd_;
  std::unique_ptr<Before> before_;  // null: moved from
};

// True if this process may draw on the terminal: it is in its foreground.
bool IsForeground(int fd);

// Writes to a descriptor from a thread of its own, in order. Nothing is ever dropped before an
// error, so whoever produces must stop when told that the queue is full and go on at OnRoom.
//
// Made and destroyed on the loop's thread; Write and Backlog from any thread. The descriptor stays
// the caller's, and open until the destructor (or a Close that failed) is over.
class OutputThread {
 public:
  struct Options {
    std::string name;        // for messages: "standard output"
    size_t limit = 8 << 20;  // bytes; a Write that goes beyond says so
  };
  OutputThread(Loop& loop, int fd, Options options);
  ~OutputThread();  // Close() with a short patience, when that was not done
  OutputThread(const OutputThread&) = delete;
  OutputThread& operator=(const OutputThread&) = delete;

  // Takes the bytes in any case. False: the backlog is beyond the limit; OnRoom's function comes
  // when half of the limit is free again. After an error bytes go nowhere and true is returned.
  bool Write(std::string bytes);
  size_t Backlog() const;  // bytes not yet written

  // Calls `fn` on the loop's thread, once each time after Write returned false.
  void OnRoom(std::function<void()> fn);
  // Calls `fn` on the loop's thread, once. `reader_gone`: a pipe whose reader went away (EPIPE).
  void OnError(std::function<void(Error error, bool reader_gone)> fn);

  // Waits until all is written. Fails with the write's error, or kBusy when `patience` is over.
  Status Flush(Duration patience);
  // Flush, then ends the thread. When that is not over in time the thread is left to the end of
  // the process: nobody can call back a write that hangs.
  Status Close(Duration patience);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace spate::os
