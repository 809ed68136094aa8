#include "cli/main.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>

#include "base/product.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/finish_output.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/manual/overview.h"
#include "cli/manual/reference.h"
#include "cli/manual/shell_scripts.h"
#include "cli/options/help.h"
#include "cli/options/list_files.h"
#include "cli/options/option_words.h"
#include "cli/options/shared.h"
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

int PrintMade(const Result<std::string>& text) {
  return text ? Print(*text) : ReportError(text.error());
}

// Only options: what is to be run is typed.
Result<std::vector<std::string>> OptionWords(const Command& command, std::string_view text,
                                             const std::string& place, CommandList all) {
  auto words = SplitOptionWords(text);
  if (!words) return Within(place, words.error());
  auto parsed = ParseWords(command, *words, all);
  if (!parsed) return Within(place, parsed.error());
  if (parsed->has_rest || !parsed->words.empty()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: '{}' is not an option; only options are allowed here", place,
                            EscapeForScreen(parsed->has_rest ? "--" : parsed->words.front())));
  }
  return words;
}

// -J is the name of the job in batch systems.
Error OrName(std::string_view name, Error error) {
  if (error.kind == ErrorKind::kNotFound) {
    error.message += fmt::format("; to name the job: --name {}", EscapeForScreen(ShellQuote(name)));
  }
  return error;
}

// ~/.config/spate/profiles/NAME, or the file when the name has a slash.
std::string ProfilePath(const std::string& name, const os::Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string base = environment.GetOr("XDG_CONFIG_HOME", "");
  if (base.empty()) base = os::JoinPath(environment.GetOr("HOME", "/"), ".config");
  return os::JoinPath(base, "spate/profiles/" + name);
}

// Puts the options that are not typed before those that are.
Result<Invocation> TakeInvocation(const Command& command, std::vector<std::string> argv,
                                  const Wiring& wiring) {
  constexpr size_t kProfileMost = 64 * 1024;
  const os::Environment environment = os::Environment::OfProcess();
  auto words = ParseWords(command, argv, wiring.commands);
  bool asks = words && (words->Has(opt::kHelp) || words->Has(opt::kHelpAll));
  if (!asks) {
    TRY(CheckDashes(command, argv, environment.GetOr("PATH", "")));
  }
  if (!words) return std::unexpected(words.error());
  TRY(CheckGivenOnce(*words));
  Invocation invocation{.words = std::move(*words), .argv = std::move(argv), .wiring = &wiring};
  if (asks || !Takes(command, opt::kProfile)) return invocation;
  std::vector<std::string> profiles;
  for (const std::string& name : invocation.words.All(opt::kProfile)) {
    std::string path = ProfilePath(name, environment);
    auto text = os::ReadFile(path, kProfileMost);
    if (!text) {
      return Within("--profile", OrName(name, std::move(text.error())));
    }
    auto typed =
        TRY(OptionWords(command, *text, "profile " + EscapeForScreen(path), wiring.commands));
    profiles.insert(profiles.end(), typed.begin(), typed.end());
  }
  invocation.argv.insert(invocation.argv.begin(), profiles.begin(), profiles.end());
  std::string preset = environment.GetOr("SPATE_OPTIONS", "");
  if (command.makes == Makes::kRun && !preset.empty()) {
    auto typed = TRY(OptionWords(command, preset, "$SPATE_OPTIONS", wiring.commands));
    invocation.preset = std::move(typed);
  }
  std::vector<std::string> all = invocation.preset;
  all.insert(all.end(), invocation.argv.begin(), invocation.argv.end());
  words = ParseWords(command, all, wiring.commands);
  if (!words) return std::unexpected(words.error());
  invocation.words = std::move(*words);
  return invocation;
}

// A relative XDG_STATE_HOME names another folder from each folder, so the XDG Base Directory
// Specification has programs ignore it. Whoever set it expects the state there.
void WarnOfStateFolder(const Words& words) {
  const os::Environment environment = os::Environment::OfProcess();
  const std::string base = environment.GetOr("XDG_STATE_HOME", "");
  const bool counts = environment.GetOr("SPATE_STATE", "").empty() && !words.Last(opt::kState);
  if (!counts || base.empty() || base.starts_with('/')) return;
  fmt::print(stderr,
             "spate: XDG_STATE_HOME is '{}', which is not an absolute path and is therefore "
             "ignored (as the XDG specification requires). The state is in ~/.local/state/spate. "
             "Set an absolute path\n",
             EscapeForScreen(base));
}

int Dispatch(const Command& command, std::vector<std::string> argv, const Wiring& wiring) {
  auto invocation = TakeInvocation(command, std::move(argv), wiring);
  if (!invocation) return ReportError(invocation.error());
  const Words& words = invocation->words;
  for (const std::string& note : words.notes) PrintMessage(note);
  if (words.Has(opt::kHelpAll)) return Print(CommandHelp(command, true));
  if (words.Has(opt::kHelp)) return Print(CommandHelp(command, false));
  if (command.group != CommandGroup::kGeneral) WarnOfStateFolder(words);
  return command.run(*invocation);
}

// Returns what a command line prints, for completion, which has no use for errors.
std::string Answer(std::vector<std::string> typed, const Wiring& wiring) {
  std::string answer;
  auto found = FindCommand(typed, wiring.commands);
  if (!found) return answer;
  typed.erase(typed.begin(), typed.begin() + static_cast<ptrdiff_t>(found->words));
  auto words = ParseWords(*found->command, typed);
  if (!words) return answer;
  Invocation invocation{.words = std::move(*words), .argv = std::move(typed), .wiring = &wiring};
  invocation.out = [&](std::string_view text) {
    answer += text;
    return Status();
  };
  (void)found->command->run(invocation);
  return answer;
}

// Runs the hidden commands of scripts and packages; nullopt: it is another command.
std::optional<int> Hidden(const std::vector<std::string>& words, const Wiring& wiring) {
  const std::string& first = words.front();
  std::string second = words.size() > 1 ? words[1] : "";
  if (first == "__man") return PrintMade(ManPage(second, wiring.commands, wiring.programs));
  if (first == "__reference") return Print(ReferencePage(wiring.commands));
  if (first == "__complete") {
    auto ask = [&](std::vector<std::string> typed) { return Answer(std::move(typed), wiring); };
    return Print(Complete(std::span(words).subspan(1), wiring.commands, wiring.programs, ask));
  }
  return std::nullopt;
}

}  // namespace

int TellVersion() { return Print("spate " + ProductVersion() + "\n"); }

int TellCompletion(const std::string& shell, const Wiring& wiring) {
  return PrintMade(ShellScript(shell, wiring.programs));
}

int TellHelp(const std::vector<std::string>& words, const Wiring& wiring) {
  if (words.empty()) return Print(GeneralHelp(wiring.commands, wiring.programs));
  auto found = FindCommand(words, wiring.commands);
  if (found) return Print(CommandHelp(*found->command, true));
  // The noun alone: the help of all its verbs, in short.
  std::string text;
  for (const Command* command : wiring.commands) {
    if (command->name.starts_with(words[0] + " ")) {
      text += fmt::format("  spate {:<15}{}\n", command->name, command->summary);
    }
  }
  if (words.size() == 1 && text.empty()) {
    const Program* program = FindProgram(wiring.programs, words[0]);
    if (program != nullptr) return Print(program->usage);
  }
  if (words.size() > 1 || text.empty()) return ReportError(found.error());
  return Print(text);
}

int Main(int argc, char** argv, const Wiring& wiring) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::string help = ShortHelp();
    std::fwrite(help.data(), 1, help.size(), stderr);
    return kExitUsage;
  }
  const std::string& first = words.front();
  if (first == "--version" || first == "-V") return TellVersion();
  if (first == "--help" || first == "-h" || first == "--help-all") return TellHelp({}, wiring);
  if (auto code = Hidden(words, wiring)) return *code;
  bool asks_help = words.size() > 1 && (words[1] == "--help" || words[1] == "-h");
  auto found = FindCommand(words, wiring.commands);
  if (!found && asks_help) return TellHelp({first}, wiring);
  if (!found) return ReportError(found.error());
  words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(found->words));
  return Dispatch(*found->command, std::move(words), wiring);
}

}  // namespace spate::cli
