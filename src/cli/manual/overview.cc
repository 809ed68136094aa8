#include "cli/manual/overview.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/options/table.h"

namespace spate::cli {
namespace {

std::string Line(std::string_view name, std::string_view summary) {
  return fmt::format("  {:<15}{}\n", name, summary);
}

std::string CommandLines() {
  std::string text;
  for (int group = 0; group < kCommandGroupCount; ++group) {
    text += fmt::format("\n{}\n", GroupTitle(static_cast<CommandGroup>(group)));
    for (const CommandDef& def : Commands()) {
      if (static_cast<int>(def.group) == group) text += Line(def.name, def.summary);
    }
  }
  return text;
}

}  // namespace

std::string GeneralHelp(DoorPrograms doors) {
  std::string text = "Usage: spate COMMAND [OPTIONS] [...]\n       spate COMMAND --help\n";
  text += CommandLines();
  text += Line("-h, --help", "this help") + Line("--version", "print the version");
  for (const Programs& door : doors) {
    text += fmt::format("\n{} ({})\n", door.title, door.help);
    for (const Program& program : door.all) text += Line(program.name, program.summary);
  }
  text += "\nExit codes\n";
  for (const ExitCodeText& code : kExitCodeTexts) {
    text += fmt::format("  {:>3}  {}\n", code.code, code.text);
  }
  return text;
}

}  // namespace spate::cli
