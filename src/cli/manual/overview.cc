#include "cli/manual/overview.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/options/command.h"

namespace spate::cli {
namespace {

std::string Line(std::string_view name, std::string_view summary) {
  return fmt::format("  {:<15}{}\n", name, summary);
}

std::string CommandLines(CommandList commands) {
  std::string text;
  for (int i = 0; i < kCommandGroupCount; ++i) {
    const auto group = static_cast<CommandGroup>(i);
    text += fmt::format("\n{}\n", TitleOf(group));
    for (const Command* command : commands) {
      if (command->group == group) text += Line(command->name, command->summary);
    }
  }
  return text;
}

}  // namespace

std::string GeneralHelp(CommandList commands, DoorPrograms doors) {
  std::string text = "Usage: spate COMMAND [OPTIONS] [...]\n       spate COMMAND --help\n";
  text += CommandLines(commands);
  text += Line("-h, --help", "print this help") + Line("--version", "print the version");
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
