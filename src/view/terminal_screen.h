// TerminalScreen: the real Screen, over standard output and standard error.
//
// When both lead to the same place (a terminal, or `> log 2>&1`) one thread writes for both, so
// that everything appears in the order of the calls; otherwise each has its own. Parts of files
// are read piece by piece as room comes. Thread: the loop's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/terminal.h"
#include "view/screen.h"

namespace spate::cli {

class TerminalScreen final : public Screen {
 public:
  struct Target {
    int out_fd = 1;
    int err_fd = 2;
  };
  // `on_failed` is called once when standard output cannot be written; `reader_gone` when its
  // reader closed it (exit code 141), else the error says why (disk full). A standard error that
  // cannot be written is ignored.
  TerminalScreen(os::Loop& loop, const os::Environment& environment, Target target,
                 std::function<void(const Error& error, bool reader_gone)> on_failed);
  ~TerminalScreen() override;

  void Write(Stream stream, std::string_view bytes) override;
  void WriteFile(Stream stream, FilePart part) override;
  uint64_t Backlog() const override;
  bool IsTerminal(Stream stream) const override;
  ScreenLook Inspect() const override;

  // Waits at most `patience` until all is written; true when it is. At the end of a run, call it
  // again and again with a short patience (0.1 s), so that signals are seen in between.
  bool Drain(Duration patience);

 private:
  struct Item {
    std::string bytes;
    FilePart part;  // when it has a path
    os::Fd file;
  };
  // One thread with what waits in front of it.
  struct Lane {
    std::unique_ptr<os::OutputThread> thread;
    std::deque<Item> waiting;
    uint64_t waiting_bytes = 0;
    bool full = false;
  };

  void Open(Lane& lane, os::Loop& loop, int fd, const char* name);
  Lane& LaneOf(Stream stream) { return stream == Stream::kErr && !together_ ? err_ : out_; }
  void Pump(Lane& lane);
  // Writes the next piece of a file; false when the part is over.
  bool PumpPart(Lane& lane, Item& item);

  const Target target_;
  const os::Environment environment_;
  std::function<void(const Error&, bool)> on_failed_;
  os::TerminalFacts out_facts_;
  os::TerminalFacts err_facts_;
  bool together_ = false;
  bool failed_ = false;
  Lane out_;
  Lane err_;
};

}  // namespace spate::cli
