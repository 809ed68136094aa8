#include "os/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "os/error.h"

namespace spate::os {

TerminalFacts LookAtTerminal(int fd, const Environment& environment) {
  TerminalFacts facts;
  facts.is_terminal = isatty(fd) == 1;
  std::string term = environment.GetOr("TERM", "dumb");
  facts.may_move = facts.is_terminal && term != "dumb";
  facts.may_colour = facts.may_move && environment.GetOr("NO_COLOR", "").empty();
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = environment.GetOr(name, "");
    if (locale.empty()) continue;
    std::string lower;
    for (char c : locale) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    facts.is_utf8 = lower.contains("utf-8") || lower.contains("utf8");
    break;
  }
  return facts;
}

namespace {

constexpr uint32_t kLeastPrintWidth = 40;

std::optional<uint32_t> WidthOfTerminal(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::optional<uint32_t> WidthOfEnvironment(const Environment& environment) {
  std::string columns = environment.GetOr("COLUMNS", "");
  uint32_t width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (width == 0 || width > 10'000) return std::nullopt;
  return width;
}

}  // namespace

uint32_t TerminalWidth(int fd, const Environment& environment) {
  if (auto width = WidthOfTerminal(fd)) return *width;
  return WidthOfEnvironment(environment).value_or(80);
}

std::optional<uint32_t> PrintWidth(int fd, const Environment& environment) {
  auto width = WidthOfEnvironment(environment);
  if (!width) width = WidthOfTerminal(fd);
  if (!width && isatty(fd) == 1) width = 80;
  if (width) width = std::max(kLeastPrintWidth, *width);
  return width;
}

uint32_t TerminalHeight(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

WindowSize WindowOf(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

void SetWindow(int master, WindowSize size) {
  const winsize raw{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(master, TIOCSWINSZ, &raw);
}

Result<TerminalPair> MakeTerminal(WindowSize size) {
  TerminalPair pair;
  pair.master.Reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char path[64];
  if (!pair.master || unlockpt(pair.master.get()) != 0 ||
      ptsname_r(pair.master.get(), path, sizeof path) != 0) {
    return FailErrno("make a terminal");
  }
  pair.path = path;
  SetWindow(pair.master.get(), size);
  pair.terminal.Reset(open(path, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pair.terminal) return FailErrno("open", pair.path);
  TRY(SetNonBlocking(pair.master.get(), true));
  return pair;
}

struct KeyTerminal::Before {
  termios modes{};
};

KeyTerminal::KeyTerminal(int fd, std::unique_ptr<Before> before)
    : fd_(fd), before_(std::move(before)) {}
KeyTerminal::KeyTerminal(KeyTerminal&& other) noexcept = default;

Result<KeyTerminal> KeyTerminal::Enter(int fd, Output output) {
  auto before = std::make_unique<Before>();
  if (tcgetattr(fd, &before->modes) != 0) return FailErrno("read the terminal's modes");
  termios modes = before->modes;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  modes.c_iflag &= ~static_cast<tcflag_t>(IXON);
  if (output == Output::kRaw) {
    modes.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR | ISTRIP | INPCK | BRKINT);
    modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  }
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  if (tcsetattr(fd, TCSADRAIN, &modes) != 0) return FailErrno("set the terminal's modes");
  return KeyTerminal(fd, std::move(before));
}

// Keys that were typed and not read are dropped: the shell would take them for a command.
KeyTerminal::~KeyTerminal() {
  if (before_) tcsetattr(fd_, TCSAFLUSH, &before_->modes);
}

bool IsForeground(int fd) { return tcgetpgrp(fd) == getpgrp(); }

}  // namespace spate::os
