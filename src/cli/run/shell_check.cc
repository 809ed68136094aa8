#include "cli/run/shell_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "os/environment.h"

namespace spate::cli {

ShellCheck::ShellCheck(const JobSettings& settings, bool inherits, std::string remedy)
    : kind_(format::KindOfShell(settings.shell)),
      shell_(settings.shell.empty() ? "/bin/sh" : settings.shell),
      remedy_(std::move(remedy)) {
  os::Environment here;
  if (inherits) here = os::Environment::OfProcess();
  for (std::string_view name : format::BashVariables()) {
    std::string begins = std::string(name) + "=";
    bool given = std::ranges::any_of(
        settings.environment, [&](const std::string& each) { return each.starts_with(begins); });
    if (given || here.Get(name)) variables_.emplace_back(name);
  }
}

std::string ShellCheck::Told(const format::BashText& found, std::string_view remedy) const {
  std::string shown = EscapeForScreen(found.text);
  std::string told = fmt::format("'{}' is bash syntax, but {} reads the command: {}", shown,
                                 EscapeForScreen(shell_), remedy);
  if (!found.instead.empty()) told += fmt::format(", or write {}", found.instead);
  return told;
}

std::string ShellCheck::Why(std::string_view text) const {
  auto found = format::FindBashText(text, kind_, variables_);
  return found ? Told(*found, remedy_) : std::string();
}

std::string ShellCheck::WhyArgv(std::span<const std::string> argv) const {
  if (shell_.empty()) return {};
  auto found = format::FindBashTextInArgv(argv, variables_);
  if (!found) return {};
  ShellCheck named = *this;
  named.shell_ = argv.front();
  return named.Told(*found, "use bash -c");
}

Status ShellCheck::Check(std::span<const std::string> command) const {
  if (command.empty()) return {};
  std::string why = command.size() == 1 ? Why(command.front()) : WhyArgv(command);
  return why.empty() ? Status() : Fail(ErrorKind::kInvalid, std::move(why));
}

}  // namespace spate::cli
