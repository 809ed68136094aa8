#include "cli/manual/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/shared.h"
#include "cli/options/words.h"
#include "format/lines.h"
#include "format/shell_words.h"

namespace spate::cli {
namespace {

using Typed = std::span<const std::string>;

std::string ValueOf(const Option& option, std::string_view before) {
  if (option.complete == Complete::kFile) return ":files\n";
  if (option.complete == Complete::kFolder) return ":folders\n";
  std::string lines;
  for (const std::string& word : format::SplitBlanks(option.words)) {
    lines += fmt::format("{}{}\n", before, word);
  }
  return lines;
}

std::string OptionsFor(const Command& command) {
  std::string lines;
  for (const Option* option : OptionsOf(command)) {
    for (char letter : option->letters.substr(0, 1)) {
      lines += fmt::format("-{}\t{}\n", letter, option->help);
    }
    lines += fmt::format("--{}\t{}\n", option->name(), option->help);
  }
  return lines;
}

// The options that say whose jobs are meant. Some shells take --state=DIR apart.
void AddWhose(Typed typed, std::vector<std::string>& question) {
  for (size_t i = 0; i < typed.size(); ++i) {
    std::string word = typed[i];
    if (word == "--access" || word == "--state") {
      if (i + 1 < typed.size() && typed[i + 1] == "=") ++i;
      if (++i == typed.size()) return;
      word += "=" + typed[i];
    }
    bool says = word == "--hub" || word == "--local" || word.starts_with("--access=") ||
                word.starts_with("--state=");
    if (says) question.push_back(std::move(word));
  }
}

std::string Asked(const Command& command, Typed typed, const AskSpate& ask) {
  std::vector<std::string> question = {"job", "list", "--limit=1000"};
  bool names = command.completes == Completes::kNodes || command.completes == Completes::kPools;
  if (names) question = {command.completes == Completes::kNodes ? "node" : "pool", "list"};
  if (command.completes == Completes::kUnfinishedJobs) {
    question.push_back("--filter=running,queued,held");
  }
  // Jobs of a hub alone; the state folder is of runs here, too.
  bool hub =
      !names && Takes(MeantBy(command), opt::kAccess) && !Takes(MeantBy(command), opt::kLocal);
  if (hub) question.push_back("--hub");
  question.push_back("--quiet");
  AddWhose(typed, question);
  std::string answer = (names ? "" : "last\n") + ask(std::move(question));
  if (command.completes != Completes::kTasks) return answer;
  std::string lines;
  for (std::string_view rest = answer; auto line = format::NextLine(&rest);) {
    lines += fmt::format("{}.\n", *line);
  }
  return lines;
}

std::string WordsFor(const Command& command, const std::vector<std::string>& names, Typed typed,
                     const AskSpate& ask) {
  switch (command.completes) {
    case Completes::kNothing:
      return "";
    case Completes::kFiles:
      return ":files\n";
    case Completes::kCommands:
      return NextWords(names, "");
    case Completes::kSystems:
      return "slurm\ngridengine\npbs\nhtcondor\nssh\nlocal\n";
    default:
      return Asked(command, typed, ask);
  }
}

}  // namespace

std::string Complete(std::span<const std::string> words, CommandList commands, DoorPrograms doors,
                     const AskSpate& ask) {
  if (words.empty()) return "";
  std::vector<std::string> names;
  for (const Command* command : commands) names.emplace_back(command->name);
  const std::string& now = words.back();
  const Typed before = words.first(words.size() - 1);
  if (before.empty()) {
    for (const Programs& door : doors) {
      for (const Program& program : door.all) names.emplace_back(program.name);
    }
    return NextWords(names, "") + "--help\n--version\n";
  }
  const Program* program = FindProgram(doors, words[0]);
  if (program != nullptr) return WordsAfter(*program, words.subspan(1));
  if (auto dashes = std::ranges::find(before, "--"); dashes != before.end()) {
    return dashes + 1 == before.end() ? ":programs\n" : ":files\n";
  }
  std::string verbs = NextWords(names, words[0] + " ");
  if (!verbs.empty() && words.size() == 2) return verbs;
  const Command* command =
      FindNamed(commands, verbs.empty() ? words[0] : words[0] + " " + words[1]);
  if (command == nullptr) return "";
  const size_t equals = now.starts_with("--") ? now.find('=') : std::string::npos;
  const bool has_value = before.back().contains('=');  // of an option before
  const std::string& named = equals == std::string::npos ? before.back() : now;
  const Option* option = FindOption(MeantBy(*command), named);
  if (option != nullptr && !option->argument.empty() &&
      (equals != std::string::npos || !has_value)) {
    return ValueOf(*option, equals == std::string::npos ? "" : now.substr(0, equals + 1));
  }
  return now.starts_with('-') ? OptionsFor(MeantBy(*command))
                              : WordsFor(*command, names, before, ask);
}

}  // namespace spate::cli
