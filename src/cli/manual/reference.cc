#include "cli/manual/reference.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/options/help.h"
#include "cli/options/table.h"
#include "format/lines.h"

namespace spate::cli {
namespace {

// What would end a cell or begin a tag.
std::string Cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '<' || c == '*') out += '\\';
    out += c;
  }
  return out;
}

std::string OptionRow(const OptionDef& def) {
  std::string argument = def.argument.empty() ? "" : fmt::format(" {}", def.argument);
  std::string names;
  if (!def.letters.empty()) names += fmt::format("`-{}`, ", def.letters[0]);
  names += fmt::format("`--{}{}`", def.name(), Cell(argument));
  std::string text = fmt::format("{}.", def.help);
  if (!def.more.empty()) text += fmt::format(" {}", def.more);
  std::string others(def.names.substr(def.name().size()));
  for (size_t at = 0; (at = others.find(',', at)) != std::string::npos; at += 4) {
    others.replace(at, 1, at == 0 ? "--" : ", --");
  }
  for (char letter : def.letters.substr(def.letters.empty() ? 0 : 1)) {
    others += fmt::format("{}-{}", others.empty() ? "" : ", ", letter);
  }
  if (!others.empty()) text += fmt::format(" Also {}.", others);
  return fmt::format("| {} | {} |\n", names, Cell(text));
}

std::string CommandPart(const CommandDef& def) {
  std::string summary(def.summary);
  summary.front() = static_cast<char>(summary.front() - 32);
  std::string usage = fmt::format("spate {} [OPTIONS] {}", def.name, def.arguments);
  while (usage.ends_with(' ')) usage.pop_back();
  std::string text = fmt::format("\n## spate {}\n\n    {}\n\n{}.\n", def.name, usage, summary);
  std::string examples = ExampleLines(def);
  text += "\n";
  for (std::string_view rest = examples; auto line = format::TakeLine(&rest);) {
    text += fmt::format("  {}\n", *line);
  }
  std::string details(def.details);
  for (size_t at = 0; (at = details.find('\n', at)) != std::string::npos; at += 2) {
    details.insert(at, "\n");
  }
  if (!details.empty()) text += "\n" + details + "\n";
  for (int group = 0; group < kGroupCount && !IsOtherName(def); ++group) {
    std::string rows;
    for (const OptionDef& option : Options()) {
      bool here = option.commands & Bit(def.id) && option.group != Group::kGeneral;
      if (here && static_cast<int>(option.group) == group) rows += OptionRow(option);
    }
    if (rows.empty()) continue;
    text += fmt::format("\n| {} | |\n|---|---|\n{}", GroupTitle(static_cast<Group>(group)), rows);
  }
  return text;
}

}  // namespace

std::string ReferencePage() {
  std::string text =
      "# Reference of the command line\n\nThis page is made by `spate __reference` from the "
      "definitions in `src/cli/options` (commands.cc, table.cc); change those.\n\nEvery command "
      "takes `--help` "
      "and `--help-all`. T is a time: 90 (seconds), 1.5s, 200ms, 10m, 1h30m, 2d, MM:SS, HH:MM:SS. "
      "SIZE is 512 (bytes), 64K, 1.5G, 2GiB (powers of 1024). `--` ends the options.\n";
  for (const CommandDef& def : Commands()) text += CommandPart(def);
  text += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const ExitCodeText& code : kExitCodeTexts) {
    text += fmt::format("| {} | {} |\n", code.code, code.text);
  }
  return text;
}

}  // namespace spate::cli
