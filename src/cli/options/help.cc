#include "cli/options/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate::cli {
namespace {

constexpr size_t kHelpColumn = 27;

std::string OptionLine(const OptionDef& def, bool all) {
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

std::string ExampleLines(const CommandDef& def) {
  size_t column = 0;
  for (const Example& example : ExamplesOf(def)) column = std::max(column, example.command.size());
  std::string text;
  for (const Example& example : ExamplesOf(def)) {
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

std::string OptionSynopsis(const OptionDef& def) {
  std::string text = def.letters.empty() ? "    " : fmt::format("-{}, ", def.letters.front());
  text += fmt::format("--{}", def.name());
  if (!def.argument.empty()) text += fmt::format(" {}", def.argument);
  return text;
}

std::string ShortHelp() {
  return R"(spate runs a great many commands and loses none of them.

  spate run jobs.lst                   run the lines of a file on all cores
  spate run -- gzip {} ::: *.txt       run a command for many values
  ls | spate run -- gzip {}            the same, values from standard input
  spate run --resume                   go on after a kill or a loss of power
  spate job retry last                 run again what failed
  spate job list                       what ran before

All commands: spate --help. Options of run: spate run --help
)";
}

std::string CommandHelp(Command command, bool all) {
  const CommandDef& def = Definition(command);
  std::string text = fmt::format("Usage: spate {} [OPTIONS] {}\n\n", def.name, def.arguments);
  std::string summary(def.summary);
  summary.front() = static_cast<char>(summary.front() - 32);
  text += Wrap(summary + ".", 0);
  text += "\nExamples\n" + ExampleLines(def);
  if (all && !def.details.empty()) text += "\n" + Wrap(def.details, 0);
  for (int group = 0; group < kGroupCount; ++group) {
    std::string lines;
    for (const OptionDef& option : Options()) {
      bool here = option.commands & Bit(command);
      if (here && static_cast<int>(option.group) == group) lines += OptionLine(option, all);
    }
    if (!lines.empty()) {
      text += fmt::format("\n{}\n{}", GroupTitle(static_cast<Group>(group)), lines);
    }
  }
  if (command == Command::kRun && !all) {
    text += "\nT is a time (90, 1.5s, 10m, 1h30m, HH:MM:SS), SIZE is bytes (512, 64K, 2G).\n";
  }
  return text;
}

}  // namespace spate::cli
