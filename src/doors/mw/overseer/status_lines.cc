#include "doors/mw/overseer/status_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "os/fd.h"
#include "os/terminal.h"

namespace spate::mw {

StatusLines::StatusLines(cli::OutputForm form, const os::Environment& environment)
    : form_(form), environment_(environment) {
  draws_ = form == cli::OutputForm::kHuman && os::LookAtTerminal(os::kStdout, environment).may_move;
}

// Back to the first of our lines, and all below it away.
std::string StatusLines::DrainErase() {
  size_t lines = std::exchange(drawn_, 0);
  text_.clear();
  return lines == 0 ? "" : fmt::format("\x1b[{}F\x1b[J", lines);
}

void StatusLines::Draw(const std::vector<const Watch*>& watches) {
  const size_t width = os::TerminalWidth(os::kStdout, environment_);
  const size_t most = std::max(2u, os::TerminalHeight(os::kStdout)) - 1;
  std::string text;
  size_t lines = 0;
  for (const Watch* watch : watches) {
    if (watch->ended()) continue;
    if (lines == most) break;
    text += watch->Line().substr(0, width - 1) + "\n";
    ++lines;
  }
  if (text == text_) return;
  std::string erase = DrainErase();
  status_ = os::WriteAll(os::kStdout, erase + text, "the terminal");
  drawn_ = lines;
  text_ = std::move(text);
}

void StatusLines::ForgetOthers(const std::vector<const Watch*>& watches) {
  if (told_.size() <= watches.size()) return;
  std::set<std::string_view> paths;
  for (const Watch* watch : watches) paths.insert(watch->path());
  std::erase_if(told_, [&](const auto& each) { return !paths.contains(each.first); });
}

Status StatusLines::Show(const std::vector<const Watch*>& watches) {
  if (draws_) {
    Draw(watches);
    return status_;
  }
  if (form_ == cli::OutputForm::kQuiet) return {};
  for (const Watch* watch : watches) {
    std::string line = form_ == cli::OutputForm::kJson ? watch->Json() : watch->Line() + "\n";
    std::string& told = told_[watch->path()];
    if (line == told) continue;
    TRY(os::WriteAll(os::kStdout, line, "standard output"));
    told = std::move(line);
  }
  ForgetOthers(watches);
  return {};
}

void StatusLines::Report(const std::string& text) {
  if (drawn_ > 0) (void)os::WriteAll(os::kStdout, DrainErase(), "the terminal");
  (void)os::WriteAll(os::kStderr, "spate: " + text + "\n", "standard error");
}

}  // namespace spate::mw
