#include "os/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

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

uint32_t TerminalWidth(int fd, const Environment& environment) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  std::string columns = environment.GetOr("COLUMNS", "");
  uint32_t width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  return width > 0 && width <= 10000 ? width : 80;
}

bool IsForeground(int fd) { return tcgetpgrp(fd) == getpgrp(); }

}  // namespace spate::os
