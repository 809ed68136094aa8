#include "view/terminal_screen.h"

#include <algorithm>

#include "os/file.h"

namespace spate::cli {
namespace {

constexpr size_t kScreenPiece = 256 * 1024;

bool SamePlace(int a, int b) {
  auto first = os::StatFd(a, "standard output");
  auto second = os::StatFd(b, "standard error");
  return first && second && first->device == second->device && first->inode == second->inode;
}

}  // namespace

TerminalScreen::TerminalScreen(os::Loop& loop, const os::Environment& environment, Target target,
                               std::function<void(const Error&, bool)> on_failed)
    : target_(target),
      environment_(environment),
      on_failed_(std::move(on_failed)),
      out_facts_(os::LookAtTerminal(target.out_fd, environment)),
      err_facts_(os::LookAtTerminal(target.err_fd, environment)),
      together_(SamePlace(target.out_fd, target.err_fd)) {
  Open(out_, loop, target_.out_fd, "standard output");
  if (!together_) Open(err_, loop, target_.err_fd, "standard error");
}

TerminalScreen::~TerminalScreen() = default;

void TerminalScreen::Open(Lane& lane, os::Loop& loop, int fd, const char* name) {
  lane.thread =
      std::make_unique<os::OutputThread>(loop, fd, os::OutputThread::Options{.name = name});
  lane.thread->OnRoom([this, &lane] {
    lane.full = false;
    Pump(lane);
  });
  bool is_out = &lane == &out_;
  lane.thread->OnError([this, &lane, is_out](Error error, bool reader_gone) {
    lane.waiting.clear();
    lane.waiting_bytes = 0;
    if (!is_out || failed_) return;
    failed_ = true;
    if (on_failed_) on_failed_(error, reader_gone);
  });
}

void TerminalScreen::Write(Stream stream, std::string_view bytes) {
  Lane& lane = LaneOf(stream);
  if (lane.waiting.empty() && !lane.full) {
    lane.full = !lane.thread->Write(std::string(bytes));
    return;
  }
  // Small writes behind each other become one item.
  if (lane.waiting.empty() || !lane.waiting.back().part.path.empty()) lane.waiting.emplace_back();
  lane.waiting.back().bytes += bytes;
  lane.waiting_bytes += bytes.size();
}

void TerminalScreen::WriteFile(Stream stream, FilePart part) {
  Lane& lane = LaneOf(stream);
  lane.waiting.push_back(Item{.part = std::move(part)});
  if (!lane.full) Pump(lane);
}

bool TerminalScreen::PumpPart(Lane& lane, Item& item) {
  FilePart& part = item.part;
  if (!item.file) {
    auto opened = os::OpenRead(part.path);
    if (!opened) return false;
    item.file = std::move(*opened);
  }
  size_t size = std::min<uint64_t>(kScreenPiece, part.length);
  auto piece = os::ReadAt(item.file.get(), part.offset, size, part.path);
  if (!piece || piece->empty()) return false;
  part.offset += piece->size();
  part.length -= piece->size();
  lane.full = !lane.thread->Write(std::move(*piece));
  return part.length > 0;
}

void TerminalScreen::Pump(Lane& lane) {
  while (!lane.full && !lane.waiting.empty()) {
    Item& item = lane.waiting.front();
    if (item.part.path.empty()) {
      lane.waiting_bytes -= item.bytes.size();
      lane.full = !lane.thread->Write(std::move(item.bytes));
    } else if (PumpPart(lane, item)) {
      continue;
    }
    lane.waiting.pop_front();
  }
}

uint64_t TerminalScreen::Backlog() const {
  uint64_t bytes = out_.waiting_bytes + out_.thread->Backlog();
  if (!together_) bytes += err_.waiting_bytes + err_.thread->Backlog();
  return bytes;
}

bool TerminalScreen::IsTerminal(Stream stream) const {
  if (stream == Stream::kErr) return err_facts_.may_move;
  return together_ && out_facts_.is_terminal;
}

ScreenLook TerminalScreen::Inspect() const {
  return {static_cast<int>(os::TerminalWidth(target_.err_fd, environment_)), err_facts_.may_colour,
          os::IsForeground(target_.err_fd)};
}

bool TerminalScreen::Drain(Duration patience) {
  bool drained = true;
  for (Lane* lane : {&out_, &err_}) {
    if (!lane->thread) continue;
    auto ok = lane->thread->Flush(patience);
    if (!ok && ok.error().kind != ErrorKind::kBusy) continue;  // broken: nothing will come out
    if (ok) lane->full = false;
    Pump(*lane);
    drained = drained && ok && lane->waiting.empty() && lane->thread->Backlog() == 0;
  }
  return drained;
}

}  // namespace spate::cli
