#include "command/live_screen.h"

#include <algorithm>
#include <utility>

#include "os/fd.h"
#include "os/signals.h"
#include "os/terminal.h"

namespace spate::cli::command {
namespace {

constexpr uint64_t kFewestLines = 4;
// The alternate screen, no cursor, long lines cut; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H\x1b[J";

}  // namespace

Result<std::unique_ptr<LiveScreen>> LiveScreen::Open(HistoryCall& call) {
  auto loop = TRY(os::RealLoop::Create());
  return std::unique_ptr<LiveScreen>(new LiveScreen(call, std::move(loop)));
}

LiveScreen::LiveScreen(HistoryCall& call, std::unique_ptr<os::RealLoop> loop)
    : call_(call), loop_(std::move(loop)) {
  loop_->OnSignal(os::kSignalInt, [this] {
    interrupted_ = true;
    loop_->Stop();
  });
  call_.Write(kEnter);
}

LiveScreen::~LiveScreen() {
  call_.Write(kLeave);
  (void)call_.Flush();
}

uint64_t LiveScreen::Lines() {
  return std::max<uint64_t>(os::TerminalHeight(os::kStdout), kFewestLines + 1) - 1;
}

Result<bool> LiveScreen::Draw(std::string_view text, bool more, Duration every) {
  call_.Write(kHome);
  call_.Write(text);
  TRY(call_.Flush());
  if (!more) return false;
  os::TimerId timer = loop_->At(loop_->Now() + every, [this] { loop_->Stop(); });
  if (!interrupted_) loop_->Run();
  loop_->Cancel(timer);
  return !interrupted_;
}

}  // namespace spate::cli::command
