#include "cli/main.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/finish_output.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/manual/overview.h"
#include "cli/manual/reference.h"
#include "cli/options/help.h"
#include "cli/options/option_words.h"
#include "cli/report.h"
#include "os/environment.h"
#include "os/file.h"

namespace spate::cli {
namespace {

int Print(std::string_view text) {
  errno = 0;
  std::fwrite(text.data(), 1, text.size(), stdout);
  return FinishOutput();
}

int PrintVersion() { return Print("spate " SPATE_VERSION "\n"); }

// `spate help [COMMAND]`
int Help(std::vector<std::string> words, const Wiring& wiring) {
  if (words.empty()) return Print(GeneralHelp(wiring.programs));
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
    const Program* program = FindProgram(wiring.programs, words[0]);
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
    case Command::kStateSalvage:
    case Command::kHubBackup:
    case Command::kHubRestore:
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
    case Command::kSem:
      return wiring.sem;
    case Command::kOverseer:
      return wiring.overseer;
    case Command::kSimulate:
      return wiring.simulate;
    case Command::kHubStart:
      return wiring.hub_start;
    case Command::kNodeStart:
      return wiring.node_start;
    case Command::kNodeStop:
      return wiring.node_stop;
    case Command::kJobList:
    case Command::kJobInfo:
    case Command::kJobTasks:
    case Command::kJobGraph:
    case Command::kJobCat:
    case Command::kJobTail:
    case Command::kJobForget:
    case Command::kReport:
      return wiring.job;
    default:
      return wiring.ask_hub;
  }
}

// Only options: what is to be run is typed.
Result<std::vector<std::string>> OptionWords(Command command, std::string_view text,
                                             const std::string& place) {
  auto words = SplitOptionWords(text);
  if (!words) return Within(place, words.error());
  auto parsed = ParseWords(command, *words);
  if (!parsed) return Within(place, parsed.error());
  if (parsed->has_rest || !parsed->words.empty()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: '{}' is no option; only options may stand there", place,
                            EscapeForScreen(parsed->has_rest ? "--" : parsed->words.front())));
  }
  return words;
}

// ~/.config/spate/profiles/NAME, or the file when the name has a slash.
std::string ProfilePath(const std::string& name, const os::Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string base = environment.GetOr("XDG_CONFIG_HOME", "");
  if (base.empty()) base = os::JoinPath(environment.GetOr("HOME", "/"), ".config");
  return os::JoinPath(base, "spate/profiles/" + name);
}

// Puts the options that are not typed before those that are.
Result<Invocation> TakeInvocation(Command command, std::vector<std::string> argv) {
  constexpr size_t kProfileMost = 64 * 1024;
  auto words = ParseWords(command, argv);
  if (!words) return std::unexpected(words.error());
  Invocation invocation{std::move(*words), std::move(argv)};
  bool asks = invocation.words.Has(Opt::kHelp) || invocation.words.Has(Opt::kHelpAll);
  if (asks || (command != Command::kRun && command != Command::kSubmit)) return invocation;
  os::Environment environment = os::Environment::OfProcess();
  std::vector<std::string> profiles;
  for (const std::string& name : invocation.words.All(Opt::kProfile)) {
    std::string path = ProfilePath(name, environment);
    auto text = os::ReadFile(path, kProfileMost);
    if (!text) return Within("--profile", text.error());
    auto typed = OptionWords(command, *text, "profile " + EscapeForScreen(path));
    if (!typed) return std::unexpected(typed.error());
    profiles.insert(profiles.end(), typed->begin(), typed->end());
  }
  invocation.argv.insert(invocation.argv.begin(), profiles.begin(), profiles.end());
  std::string preset = environment.GetOr("SPATE_OPTIONS", "");
  if (command == Command::kRun && !preset.empty()) {
    auto typed = OptionWords(command, preset, "$SPATE_OPTIONS");
    if (!typed) return std::unexpected(typed.error());
    invocation.preset = std::move(*typed);
  }
  std::vector<std::string> all = invocation.preset;
  all.insert(all.end(), invocation.argv.begin(), invocation.argv.end());
  words = ParseWords(command, all);
  if (!words) return std::unexpected(words.error());
  invocation.words = std::move(*words);
  return invocation;
}

// A relative XDG_STATE_HOME names another folder from each folder, so the XDG Base Directory
// Specification has programs ignore it. Whoever set it expects the state there.
void WarnOfStateFolder(const Words& words) {
  const os::Environment environment = os::Environment::OfProcess();
  const std::string base = environment.GetOr("XDG_STATE_HOME", "");
  const bool counts = environment.GetOr("SPATE_STATE", "").empty() && !words.Last(Opt::kState);
  if (!counts || base.empty() || base.starts_with('/')) return;
  fmt::print(stderr,
             "spate: XDG_STATE_HOME is '{}', which is not an absolute path, and is ignored (as the "
             "XDG specification demands): the state is in ~/.local/state/spate; set an absolute "
             "path\n",
             EscapeForScreen(base));
}

int Dispatch(Command command, std::vector<std::string> argv, const Wiring& wiring) {
  auto invocation = TakeInvocation(command, std::move(argv));
  if (!invocation) return ReportError(invocation.error());
  Words* words = &invocation->words;
  if (words->Has(Opt::kHelpAll)) return Print(CommandHelp(command, true));
  if (words->Has(Opt::kHelp)) return Print(CommandHelp(command, false));
  if (command == Command::kHelp) return Help(words->words, wiring);
  if (command == Command::kVersion) return PrintVersion();
  const Handler& handler = HandlerOf(command, wiring);
  if (!handler) {
    return ReportError(
        {ErrorKind::kUnavailable,
         fmt::format("`spate {}` is not part of this program", Definition(command).name)});
  }
  WarnOfStateFolder(*words);
  return handler(*invocation);
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
  if (first == "--help" || first == "-h" || first == "--help-all")
    return Print(GeneralHelp(wiring.programs));
  if (first == "__man")
    return PrintMade(ManPage(words.size() > 1 ? words[1] : "", wiring.programs));
  if (first == "__reference") return Print(ReferencePage());
  if (first == "__completion")
    return PrintMade(Completion(words.size() > 1 ? words[1] : "", wiring.programs));
  bool asks_help = words.size() > 1 && (words[1] == "--help" || words[1] == "-h");
  auto found = FindCommand(words);
  if (!found && asks_help) return Help({first}, wiring);
  if (!found) return ReportError(found.error());
  words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(found->words));
  return Dispatch(found->command, std::move(words), wiring);
}

}  // namespace spate::cli
