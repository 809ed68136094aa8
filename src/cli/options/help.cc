#include "cli/options/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate::cli {
namespace {

constexpr size_t kHelpColumn = 27;

std::string OptionLine(const Option& def, bool all) {
  std::string line = "  " + OptionSynopsis(def);
  if (line.size() + 2 > kHelpColumn) {
    line += "\n" + std::string(kHelpColumn, ' ');
  } else {
    line.resize(kHelpColumn, ' ');
  }
  line += std::string(def.help) + "\n";
  if (all && !def.more.empty()) line += Wrap(def.more, kHelpColumn + 2);
  return line;
}

}  // namespace

std::string ExampleLines(const Command& command) {
  size_t column = 0;
  for (const Example& example : ExamplesOf(command))
    column = std::max(column, example.command.size());
  std::string text;
  for (const Example& example : ExamplesOf(command)) {
    text += fmt::format("  {:<{}}  # {}\n", example.command, column, example.text);
  }
  return text;
}

std::string Wrap(std::string_view text, size_t indent, size_t width) {
  std::string out;
  std::string line;
  auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(" \n"), text.size());
    std::string_view word = text.substr(0, end);
    bool paragraph = end < text.size() && text[end] == '\n';
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) flush();
    if (!line.empty() && !word.empty()) line += ' ';
    line += word;
    if (paragraph) flush();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  flush();
  return out;
}

std::string OptionSynopsis(const Option& def) {
  std::string text = def.letters.empty() ? "    " : fmt::format("-{}, ", def.letters.front());
  text += fmt::format("--{}", def.name());
  if (!def.argument.empty()) text += fmt::format(" {}", def.argument);
  return text;
}

std::string ShortHelp() {
  return R"(spate runs a great many commands and loses none of them.

  spate run jobs.lst                   run the lines of a file on all cores
  spate run -- gzip {} ::: *.txt       run a command for many values
  ls | spate run -- gzip {}            the same with values from standard input
  spate run --resume                   resume after a kill or a power failure
  spate job retry last                 retry the failed tasks
  spate job list                       list earlier runs

All commands: spate --help. Options of run: spate run --help
)";
}

std::string CommandHelp(const Command& command, bool all) {
  std::string text =
      fmt::format("Usage: spate {} [OPTIONS] {}\n\n", command.name, command.arguments);
  std::string summary(command.summary);
  summary.front() = static_cast<char>(summary.front() - 32);
  text += Wrap(summary + ".", 0);
  text += "\nExamples\n" + ExampleLines(command);
  if (all && !command.details.empty()) text += "\n" + Wrap(command.details, 0);
  const auto options = OptionsOf(command);
  for (int i = 0; i < kHeadingCount; ++i) {
    const auto heading = static_cast<Heading>(i);
    std::string lines;
    for (const Option* option : options) {
      if (option->heading == heading) lines += OptionLine(*option, all);
    }
    if (!lines.empty()) text += fmt::format("\n{}\n{}", TitleOf(heading), lines);
  }
  if (!command.footer.empty() && !all) text += fmt::format("\n{}\n", command.footer);
  return text;
}

}  // namespace spate::cli
