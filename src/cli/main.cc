#include "cli/main.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/units.h"
#include "cli/compat/programs.h"
#include "cli/exit_code.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/manual/reference.h"
#include "cli/options/help.h"
#include "cli/report.h"

namespace spate::cli {
namespace {

int Print(std::string_view text) {
  size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  bool whole = written == text.size() && std::fflush(stdout) == 0;
  return whole ? kExitSuccess : kExitOutputClosed;
}

int PrintVersion() { return Print("spate " SPATE_VERSION "\n"); }

// `spate help [COMMAND]`
int Help(std::vector<std::string> words) {
  if (words.empty()) return Print(GeneralHelp());
  auto found = FindCommand(words);
  if (found) return Print(CommandHelp(found->command, true));
  // The noun alone: the help of all its verbs, in short.
  std::string text;
  for (const CommandDef& def : Commands()) {
    if (def.name.starts_with(words[0] + " ")) {
      text += fmt::format("  spate {:<15}{}\n", def.name, def.summary);
    }
  }
  if (words.size() == 1 && text.empty()) {
    const ParasolProgram* program = FindParasolProgram(words[0]);
    if (program != nullptr) return Print(program->usage);
  }
  if (words.size() > 1 || text.empty()) return ReportError(found.error());
  return Print(text);
}

int PrintMade(const Result<std::string>& text) {
  return text ? Print(*text) : ReportError(text.error());
}

const Handler& HandlerOf(Command command, const Wiring& wiring) {
  switch (command) {
    case Command::kRun:
    case Command::kJobRetry:
      return wiring.run;
    case Command::kTaskInfo:
    case Command::kTaskExplain:
      return wiring.task;
    case Command::kStateCheck:
      return wiring.state;
    case Command::kSubmit:
    case Command::kJobAdd:
      return wiring.submit;
    case Command::kJobWait:
    case Command::kJobProgress:
      return wiring.wait;
    case Command::kJobGet:
      return wiring.get;
    case Command::kTop:
      return wiring.top;
    case Command::kHubStart:
      return wiring.hub_start;
    case Command::kNodeStart:
      return wiring.node_start;
    case Command::kJobList:
    case Command::kJobInfo:
    case Command::kJobTasks:
    case Command::kJobCat:
    case Command::kJobTail:
    case Command::kJobForget:
    case Command::kReport:
      return wiring.job;
    default:
      return wiring.ask_hub;
  }
}

int Dispatch(Command command, std::vector<std::string> argv, const Wiring& wiring) {
  auto words = ParseWords(command, argv);
  if (!words) return ReportError(words.error());
  if (words->Has(Opt::kHelpAll)) return Print(CommandHelp(command, true));
  if (words->Has(Opt::kHelp)) return Print(CommandHelp(command, false));
  if (command == Command::kHelp) return Help(words->words);
  if (command == Command::kVersion) return PrintVersion();
  const Handler& handler = HandlerOf(command, wiring);
  if (!handler) {
    return ReportError(
        {ErrorKind::kUnavailable,
         fmt::format("`spate {}` is not part of this program", Definition(command).name)});
  }
  return handler(Invocation{std::move(*words), std::move(argv)});
}

}  // namespace

int Main(int argc, char** argv, const Wiring& wiring) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::string help = ShortHelp();
    std::fwrite(help.data(), 1, help.size(), stderr);
    return kExitUsage;
  }
  const std::string& first = words.front();
  if (first == "--version" || first == "-V") return PrintVersion();
  if (first == "--help" || first == "-h" || first == "--help-all") return Print(GeneralHelp());
  if (first == "__man") return PrintMade(ManPage(words.size() > 1 ? words[1] : ""));
  if (first == "__reference") return Print(ReferencePage());
  if (first == "__completion") return PrintMade(Completion(words.size() > 1 ? words[1] : ""));
  bool asks_help = words.size() > 1 && (words[1] == "--help" || words[1] == "-h");
  auto found = FindCommand(words);
  if (!found && asks_help) return Help({first});
  if (!found) return ReportError(found.error());
  words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(found->words));
  return Dispatch(found->command, std::move(words), wiring);
}

}  // namespace spate::cli
