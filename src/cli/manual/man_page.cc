#include "cli/manual/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/help.h"
#include "cli/options/table.h"
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

// As it stands, line for line.
std::string Verbatim(std::string_view lines) {
  std::string text = ".nf\n";
  while (auto line = format::TakeLine(&lines)) text += Roff(*line) + "\n";
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

std::string OptionEntry(const OptionDef& def) {
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

std::string OptionsOf(Command command, std::string_view heading) {
  std::string text;
  for (int group = 0; group < kGroupCount; ++group) {
    std::string entries;
    for (const OptionDef& def : Options()) {
      bool here = def.commands & Bit(command);
      if (here && static_cast<int>(def.group) == group) entries += OptionEntry(def);
    }
    if (entries.empty()) continue;
    text += fmt::format("{} \"{}\"\n{}", heading, GroupTitle(static_cast<Group>(group)), entries);
  }
  return text;
}

std::string Synopsis(const CommandDef& def) {
  return fmt::format(".B spate {}\n[\\fIOPTIONS\\fR] {}\n", def.name, Roff(def.arguments));
}

std::string Units() {
  return ".SH \"TIMES AND SIZES\"\n" +
         Roff(
             "A time is 90 (seconds), 1.5s, 200ms, 10m, 1h30m, 2d, MM:SS or HH:MM:SS. A size is "
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

std::string MainPage(DoorPrograms doors) {
  std::string text = Head("spate", "run a great many commands and lose none of them");
  text += ".SH SYNOPSIS\n.B spate\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [...]\n";
  std::string examples = ShortHelp();
  size_t begin = examples.find("\n\n") + 2;
  text += ".SH EXAMPLES\n" + Verbatim(examples.substr(begin, examples.find("\n\n", begin) - begin));
  text += ".SH DESCRIPTION\n";
  text += Roff(
              "spate runs the commands of a job list, or one command for many values, as many at "
              "once as the machine has cores. The end of every task is kept durably: after a kill "
              "or a loss of power a run goes on where it was, and what failed can be run again.") +
          "\n.SH COMMANDS\n";
  for (int group = 0; group < kCommandGroupCount; ++group) {
    text += fmt::format(".SS \"{}\"\n", GroupTitle(static_cast<CommandGroup>(group)));
    for (const CommandDef& def : Commands()) {
      if (static_cast<int>(def.group) != group) continue;
      text += fmt::format(".TP\n.B spate {}\n{}.\n", def.name, Roff(def.summary));
    }
  }
  for (const Programs& door : doors) {
    text += fmt::format(".SS \"{}\"\n", door.title);
    for (const Program& program : door.all) {
      text += fmt::format(".TP\n.B {}\n{}.\n", program.name, Roff(program.summary));
    }
  }
  text +=
      ".SH ENVIRONMENT\n.TP\n.B SPATE_STATE\nWhere the history is kept, unless "
      "\\-\\-state is given.\n.TP\n.B XDG_STATE_HOME\nIts folder spate is the default "
      "(~/.local/state/spate without it).\n.TP\n.B SPATE_HUB\nThe access file of the hub, "
      "unless \\-\\-access is given.\n.TP\n.B SPATE_OPTIONS\nOptions of every spate run, before "
      "those that are typed.\n";
  return text + Tail();
}

std::string NounPage(std::string_view noun, std::string_view summary) {
  std::string page = fmt::format("spate-{}", noun);
  std::vector<const CommandDef*> defs;
  for (const CommandDef& def : Commands()) {
    bool here = def.name == noun || def.name.starts_with(fmt::format("{} ", noun));
    if (here) defs.push_back(&def);
  }
  std::string text = Head(page, summary) + ".SH SYNOPSIS\n";
  for (size_t i = 0; i < defs.size(); ++i) text += (i ? ".br\n" : "") + Synopsis(*defs[i]);
  if (defs.size() == 1) {
    text += ".SH EXAMPLES\n" + Verbatim(ExampleLines(*defs[0]));
    text += ".SH DESCRIPTION\n" + Roff(defs[0]->details) + "\n";
    text += OptionsOf(defs[0]->id, ".SH");
  } else {
    for (const CommandDef* def : defs) {
      std::string upper(def->name);
      text += fmt::format(".SH \"SPATE {}\"\n{}.\n", upper, Roff(def->summary));
      text += ".PP\n" + Verbatim(ExampleLines(*def));
      if (!def->details.empty()) text += ".PP\n" + Roff(def->details) + "\n";
      if (!IsOtherName(*def)) text += OptionsOf(def->id, ".SS");
    }
  }
  if (noun == "run") {
    text += ".SH \"ENVIRONMENT OF A TASK\"\n" +
            Roff(
                "SPATE_JOB_ID, SPATE_TASK_ID, SPATE_TASK_INDEX, SPATE_ATTEMPT, SPATE_SLOT, "
                "SPATE_NODE, SPATE_CPUS, SPATE_CPU_LIST, SPATE_MEMORY, SPATE_GPUS.") +
            "\n";
  }
  return text + Units() + Tail();
}

// The usage of a program, below the line that names it.
std::string ProgramPage(const Program& program, int error_code) {
  std::string text = Head(program.name, program.summary) + ".SH SYNOPSIS\n";
  text += Verbatim(program.usage.substr(program.usage.find('\n') + 1));
  text += fmt::format(
      ".SH \"EXIT STATUS\"\n.TP\n.B 0\nDone.\n.TP\n.B {}\nAny error; it is told on "
      "standard error.\n.SH \"SEE ALSO\"\n.BR spate (1)\n",
      error_code);
  return text;
}

}  // namespace

Result<std::string> ManPage(std::string_view name, DoorPrograms doors) {
  for (const Programs& door : doors) {
    const Program* program = FindProgram({&door, 1}, name);
    if (program != nullptr) return ProgramPage(*program, door.error_code);
  }
  if (name == "spate") return MainPage(doors);
  if (name == "spate-run") {
    return NounPage("run", Definition(Command::kRun).summary);
  }
  if (name == "spate-job") return NounPage("job", "look at jobs that ran, run them again");
  if (name == "spate-task") return NounPage("task", "look at single tasks");
  if (name == "spate-state") return NounPage("state", "examine the stored state");
  if (name == "spate-submit") {
    return NounPage("submit", Definition(Command::kSubmit).summary);
  }
  if (name == "spate-hub") return NounPage("hub", "run a hub, and say who may use it");
  if (name == "spate-pool") return NounPage("pool", "let a hub ask batch systems for nodes");
  if (name == "spate-node") return NounPage("node", "serve a hub, and look after its nodes");
  if (name == "spate-top") return NounPage("top", Definition(Command::kTop).summary);
  if (name == "spate-overseer") return NounPage("overseer", Definition(Command::kOverseer).summary);
  if (name == "spate-sem") return NounPage("sem", Definition(Command::kSem).summary);
  if (name == "spate-simulate") {
    return NounPage("simulate", Definition(Command::kSimulate).summary);
  }
  if (name == "spate-report") return NounPage("report", Definition(Command::kReport).summary);
  return Fail(
      ErrorKind::kInvalid,
      fmt::format(
          "there is no man page '{}'; there are spate, spate-run, spate-submit, "
          "spate-job, spate-task, spate-hub, spate-node, spate-pool, spate-top, spate-report, "
          "spate-overseer, spate-sem, spate-simulate, spate-state and those of the programs of "
          "Parasol",
          EscapeForScreen(name)));
}

}  // namespace spate::cli
