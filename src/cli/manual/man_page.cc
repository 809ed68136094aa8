#include "cli/manual/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/command.h"
#include "cli/options/help.h"
#include "format/lines.h"

namespace spate::cli {
namespace {

// Text that roff prints as it is. Dashes are made minus signs, which can be searched and copied.
std::string Roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\n') {
      out += "\n.PP\n";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

// The text unchanged, line for line.
std::string Verbatim(std::string_view lines) {
  std::string text = ".nf\n";
  while (auto line = format::NextLine(&lines)) text += Roff(*line) + "\n";
  return text + ".fi\n";
}

std::string Head(std::string_view page, std::string_view summary) {
  std::string title(page);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return fmt::format(
      ".TH {} 1 \"\" \"spate {}\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n", title,
      SPATE_VERSION, Roff(page), Roff(summary));
}

std::string OptionEntry(const Option& def) {
  std::string names;
  for (char letter : def.letters.substr(0, 1)) names += fmt::format("\\fB\\-{}\\fR, ", letter);
  names += fmt::format("\\fB\\-\\-{}\\fR", Roff(def.name()));
  if (!def.argument.empty()) names += fmt::format(" \\fI{}\\fR", Roff(def.argument));
  std::string text(def.help);
  text.front() = static_cast<char>(text.front() >= 'a' && text.front() <= 'z' ? text.front() - 32
                                                                              : text.front());
  text += '.';
  if (!def.more.empty()) text += fmt::format(" {}", def.more);
  size_t comma = def.names.find(',');
  if (comma != std::string_view::npos) {
    std::string others(def.names.substr(comma + 1));
    for (size_t at = 0; (at = others.find(',', at)) != std::string::npos; at += 4) {
      others.replace(at, 1, ", --");
    }
    text += fmt::format(" (Also --{}.)", others);
  }
  return fmt::format(".TP\n{}\n{}\n", names, Roff(text));
}

std::string OptionEntries(const Command& command, std::string_view macro) {
  std::string text;
  const auto options = OptionsOf(command);
  for (int i = 0; i < kHeadingCount; ++i) {
    const auto heading = static_cast<Heading>(i);
    std::string entries;
    for (const Option* option : options) {
      if (option->heading == heading) entries += OptionEntry(*option);
    }
    if (entries.empty()) continue;
    text += fmt::format("{} \"{}\"\n{}", macro, TitleOf(heading), entries);
  }
  return text;
}

std::string Synopsis(const Command& def) {
  return fmt::format(".B spate {}\n[\\fIOPTIONS\\fR] {}\n", def.name, Roff(def.arguments));
}

std::string Units() {
  return ".SH \"TIMES AND SIZES\"\n" +
         Roff(
             "A time is 90 (seconds), 1.5s, 200ms, 10m, 1h30m, 2d, MM:SS, HH:MM:SS or "
             "DAYS-HH:MM:SS. A "
             "size is "
             "512 (bytes), 64K, 1.5G or 2GiB; K, M, G, T and P are powers of 1024.") +
         "\n";
}

std::string Tail() {
  std::string text = ".SH \"EXIT STATUS\"\n";
  for (const ExitCodeText& code : kExitCodeTexts) {
    text += fmt::format(".TP\n.B {}\n{}.\n", code.code, Roff(code.text));
  }
  text += ".SH \"SEE ALSO\"\n";
  text +=
      ".BR spate (1),\n.BR spate\\-run (1),\n.BR spate\\-submit (1),\n.BR spate\\-job (1),\n"
      ".BR spate\\-task (1),\n.BR spate\\-hub (1),\n.BR spate\\-node (1),\n.BR spate\\-top "
      "(1),\n.BR spate\\-report (1),\n.BR spate\\-sem (1),\n"
      ".BR spate\\-state (1),\n.BR parallel (1)\n";
  return text;
}

std::string MainPage(CommandList commands, DoorPrograms doors) {
  std::string text = Head("spate", "run a great many commands and lose none of them");
  text += ".SH SYNOPSIS\n.B spate\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [...]\n";
  std::string examples = ShortHelp();
  size_t begin = examples.find("\n\n") + 2;
  text += ".SH EXAMPLES\n" + Verbatim(examples.substr(begin, examples.find("\n\n", begin) - begin));
  text += ".SH DESCRIPTION\n";
  text += Roff(
              "spate runs the commands of a job list, or one command for many values, as many at "
              "once as the machine has cores. The end of every task is stored durably: after a "
              "kill or a power failure, a run can be resumed where it stopped, and failed tasks "
              "can be retried.") +
          "\n.SH COMMANDS\n";
  for (int i = 0; i < kCommandGroupCount; ++i) {
    const auto group = static_cast<CommandGroup>(i);
    text += fmt::format(".SS \"{}\"\n", TitleOf(group));
    for (const Command* command : commands) {
      if (command->group != group) continue;
      text += fmt::format(".TP\n.B spate {}\n{}.\n", command->name, Roff(command->summary));
    }
  }
  for (const Programs& door : doors) {
    text += fmt::format(".SS \"{}\"\n", door.title);
    for (const Program& program : door.all) {
      text += fmt::format(".TP\n.B {}\n{}.\n", program.name, Roff(program.summary));
    }
  }
  text +=
      ".SH ENVIRONMENT\n.TP\n.B SPATE_STATE\nFolder of the history, unless \\-\\-state is "
      "given.\n.TP\n.B XDG_STATE_HOME\nIts folder spate is the default for the history (without "
      "it, ~/.local/state/spate).\n.TP\n.B SPATE_HUB\nThe access file of the hub, unless "
      "\\-\\-access is given.\n.TP\n.B SPATE_OPTIONS\nOptions for every spate run; options on the "
      "command line override them.\n";
  return text + Tail();
}

std::string NounPage(CommandList commands, std::string_view noun, std::string_view summary) {
  std::string page = fmt::format("spate-{}", noun);
  std::vector<const Command*> defs;
  for (const Command* command : commands) {
    bool here = command->name == noun || command->name.starts_with(fmt::format("{} ", noun));
    if (here) defs.push_back(command);
  }
  std::string text = Head(page, summary) + ".SH SYNOPSIS\n";
  for (size_t i = 0; i < defs.size(); ++i) text += (i ? ".br\n" : "") + Synopsis(*defs[i]);
  if (defs.size() == 1) {
    text += ".SH EXAMPLES\n" + Verbatim(ExampleLines(*defs[0]));
    text += ".SH DESCRIPTION\n" + Roff(defs[0]->details) + "\n";
    text += OptionEntries(*defs[0], ".SH");
  } else {
    for (const Command* def : defs) {
      std::string upper(def->name);
      text += fmt::format(".SH \"SPATE {}\"\n{}.\n", upper, Roff(def->summary));
      text += ".PP\n" + Verbatim(ExampleLines(*def));
      if (!def->details.empty()) text += ".PP\n" + Roff(def->details) + "\n";
      if (!IsOtherName(*def)) text += OptionEntries(*def, ".SS");
    }
  }
  if (noun == "run") {
    text += ".SH \"ENVIRONMENT OF A TASK\"\n" +
            Roff(
                "SPATE_JOB_ID, SPATE_TASK_ID, SPATE_TASK_INDEX, SPATE_ATTEMPT, SPATE_SLOT, "
                "SPATE_NODE, SPATE_CPUS, SPATE_CPU_LIST, SPATE_MEMORY, SPATE_GPUS, "
                "SPATE_ARRAY_VALUE.") +
            "\n";
  }
  return text + Units() + Tail();
}

// The nouns that have a page. A noun that is a command has the command's summary.
struct NounText {
  std::string_view noun;
  std::string_view summary = {};
};
constexpr NounText kNouns[] = {{"run"},
                               {"job", "examine, retry and control jobs"},
                               {"task", "examine and cancel single tasks"},
                               {"state", "examine the stored state"},
                               {"submit"},
                               {"hub", "run a hub and control access to it"},
                               {"pool", "let a hub request nodes from batch systems"},
                               {"node", "serve a hub and manage its nodes"},
                               {"top"},
                               {"overseer"},
                               {"sem"},
                               {"simulate"},
                               {"report"},
                               {"ps"},
                               {"exec"},
                               {"ghost"},
                               {"shell"}};

// The usage of a program, below the line that names it.
std::string ProgramPage(const Program& program, int error_code) {
  std::string text = Head(program.name, program.summary) + ".SH SYNOPSIS\n";
  text += Verbatim(program.usage.substr(program.usage.find('\n') + 1));
  text += fmt::format(
      ".SH \"EXIT STATUS\"\n.TP\n.B 0\nDone.\n.TP\n.B {}\nAny error; standard error has the "
      "message.\n.SH \"SEE ALSO\"\n.BR spate (1)\n",
      error_code);
  return text;
}

}  // namespace

Result<std::string> ManPage(std::string_view name, CommandList commands, DoorPrograms doors) {
  for (const Programs& door : doors) {
    const Program* program = FindProgram({&door, 1}, name);
    if (program != nullptr) return ProgramPage(*program, door.error_code);
  }
  if (name == "spate") return MainPage(commands, doors);
  for (const NounText& text : kNouns) {
    if (name != fmt::format("spate-{}", text.noun)) continue;
    const Command* command = FindNamed(commands, text.noun);
    return NounPage(commands, text.noun, command != nullptr ? command->summary : text.summary);
  }
  return Fail(
      ErrorKind::kInvalid,
      fmt::format(
          "no man page '{}'; the pages are spate, spate-run, spate-submit, spate-job, spate-task, "
          "spate-hub, spate-node, spate-pool, spate-top, spate-report, spate-overseer, spate-sem, "
          "spate-simulate, spate-state, spate-ps, spate-exec, spate-ghost, spate-shell, and those "
          "of Parasol's programs",
          EscapeForScreen(name)));
}

}  // namespace spate::cli
