// Completion scripts. The word after `--` and everything behind it is completed as a command and
// files; before it the table says what an option's value may be, and which words a command takes.
// Numbers of jobs and names of nodes and pools are asked of spate itself, with the options on the
// line that say whose jobs are meant. The programs of Parasol are known by their own names, too.
#include "cli/manual/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/options/table.h"

namespace spate::cli {
namespace {

std::vector<std::string> Nouns() {
  std::vector<std::string> nouns;
  for (const CommandDef& def : Commands()) {
    std::string noun(def.name.substr(0, def.name.find(' ')));
    if (std::find(nouns.begin(), nouns.end(), noun) == nouns.end()) nouns.push_back(noun);
  }
  return nouns;
}

std::vector<std::string> Verbs(std::string_view noun) {
  std::vector<std::string> verbs;
  for (const CommandDef& def : Commands()) {
    if (def.name.starts_with(fmt::format("{} ", noun))) {
      verbs.emplace_back(def.name.substr(noun.size() + 1));
    }
  }
  return verbs;
}

std::vector<Program> AllOf(DoorPrograms doors) {
  std::vector<Program> programs;
  for (const Programs& door : doors) {
    programs.insert(programs.end(), door.all.begin(), door.all.end());
  }
  return programs;
}

std::vector<std::string> ProgramNames(DoorPrograms doors) {
  std::vector<std::string> names;
  for (const Program& program : AllOf(doors)) names.emplace_back(program.name);
  return names;
}

// The first words of the program's commands, and for some of them what may follow.
struct ProgramWords {
  std::vector<std::string> first;
  std::vector<std::pair<std::string, std::vector<std::string>>> second;
};

ProgramWords WordsOf(const Program& program) {
  ProgramWords words;
  if (program.commands == nullptr) return words;
  for (const std::string& name : program.commands()) {
    size_t blank = std::min(name.find(' '), name.size());
    std::string first = name.substr(0, blank);
    if (words.first.empty() || words.first.back() != first) words.first.push_back(first);
    if (blank == name.size()) continue;
    if (words.second.empty() || words.second.back().first != first)
      words.second.push_back({first, {}});
    words.second.back().second.push_back(name.substr(blank + 1));
  }
  return words;
}

// What `spate` answers with the words that a command may take; empty: nothing is asked.
std::string QuestionFor(const CommandDef& def) {
  bool hub_only = !(Definition(Opt::kLocal).commands & Bit(def.id));
  std::string whose = hub_only && def.id != Command::kStateCheck ? " --hub" : "";
  switch (def.completes) {
    case Completes::kUnfinishedJobs:
      return "job list --limit 1000 --filter running,queued,held" + whose;
    case Completes::kJobs:
    case Completes::kTasks:
      return "job list --limit 1000" + whose;
    case Completes::kNodes:
      return "node list";
    case Completes::kPools:
      return "pool list";
    default:
      return "";
  }
}

constexpr std::string_view kBatchSystems = "slurm gridengine pbs htcondor ssh local";

// Words that are there from the beginning.
std::string FixedWords(const CommandDef& def) {
  if (def.completes == Completes::kCommands) return fmt::format("{}", fmt::join(Nouns(), " "));
  return def.completes == Completes::kSystems ? std::string(kBatchSystems) : std::string();
}
// Jobs are also known as "last".
bool TakesNames(const CommandDef& def) {
  return def.completes == Completes::kNodes || def.completes == Completes::kPools;
}

// "-j --jobs"
std::string Spellings(const OptionDef& def, std::string_view separator) {
  std::string text = fmt::format("--{}", def.name());
  if (!def.letters.empty()) text = fmt::format("-{}{}{}", def.letters[0], separator, text);
  return text;
}

// ---- bash --------------------------------------------------------------------------------------

// Where a long name means different options, the commands that have this one.
std::vector<std::string_view> CommandsThatMean(const OptionDef& def) {
  auto same = [&](const OptionDef& other) { return other.name() == def.name(); };
  std::vector<std::string_view> names;
  if (std::ranges::count_if(Options(), same) == 1) return names;
  for (const CommandDef& command : Commands()) {
    if (def.commands & Bit(command.id)) names.push_back(command.name);
  }
  return names;
}

std::string BashValues() {
  std::string text;
  for (const OptionDef& def : Options()) {
    if (def.argument.empty()) continue;
    std::string action = ":";
    if (def.complete == Complete::kWords) {
      action = fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", def.words);
    } else if (def.complete == Complete::kFile) {
      action = "COMPREPLY=($(compgen -f -- \"$cur\"))";
    } else if (def.complete == Complete::kFolder) {
      action = "COMPREPLY=($(compgen -d -- \"$cur\"))";
    }
    // A letter may mean another option in another command; few long names do.
    std::string where;
    for (std::string_view command : CommandsThatMean(def)) {
      where += fmt::format("{}\"{} --{}\"", where.empty() ? "" : "|", command, def.name());
    }
    if (where.empty()) where = fmt::format("*\" --{}\"", def.name());
    text += fmt::format("    {}) {}; return ;;\n", where, action);
  }
  return text;
}

// What completes the words of each command, as cases.
std::string BashWords() {
  std::string text;
  for (const CommandDef& def : Commands()) {
    std::string action;
    if (def.completes == Completes::kFiles) action = "COMPREPLY=($(compgen -f -- \"$cur\"))";
    if (std::string fixed = FixedWords(def); !fixed.empty()) {
      action = fmt::format("_spate_offer \"{}\"", fixed);
    }
    std::string question = QuestionFor(def);
    bool names = TakesNames(def);
    bool tasks = def.completes == Completes::kTasks;
    if (!question.empty()) {
      action = fmt::format("_spate_offer \"{}$(_spate_ask {}{})\"",
                           names   ? ""
                           : tasks ? "last. "
                                   : "last ",
                           question, tasks ? " | sed 's/$/./'" : "");
    }
    if (tasks) action += "; compopt -o nospace 2>/dev/null";
    if (!action.empty()) text += fmt::format("    \"{}\") {} ;;\n", def.name, action);
  }
  return text;
}

std::string BashPrograms(DoorPrograms doors) {
  std::string text;
  for (const Program& program : AllOf(doors)) {
    ProgramWords words = WordsOf(program);
    text += fmt::format("    {}) options=\"{}\" words=\"{}\" ;;\n", program.name,
                        fmt::join(UsageOptions(program), " "), fmt::join(words.first, " "));
  }
  return text;
}

std::string BashSecondWords(DoorPrograms doors) {
  std::string text;
  for (const Program& program : AllOf(doors)) {
    for (const auto& [first, second] : WordsOf(program).second) {
      text += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", program.name, first,
                          fmt::join(second, " "));
    }
  }
  return text;
}

// The parts that are the same whatever the table says.
constexpr std::string_view kBashFunctions = R"(
_spate_offer() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }

# Asks spate, with the options that say whose jobs are meant.
_spate_ask() {
  local i word whose=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    case "$word" in
      --hub|--local) whose+=("$word") ;;
      --access|--state)
        [[ "${COMP_WORDS[i+1]}" == "=" ]] && ((i++))
        ((++i < COMP_CWORD)) && whose+=("$word" "${COMP_WORDS[i]/#\~\//$HOME/}") ;;
    esac
  done
  timeout 5 "${COMP_WORDS[0]/#\~\//$HOME/}" "$@" --quiet "${whose[@]}" 2>/dev/null
}

# A program of Parasol, whose name is the word $1.
_spate_program() {
  local cur="${COMP_WORDS[COMP_CWORD]}" name="${COMP_WORDS[$1]##*/}" options= words= first= i
  COMPREPLY=()
  _spate_program_words "$name"
  if [[ "$cur" == -* ]]; then
    _spate_offer "$options"
    [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  for ((i = $1 + 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      =) ((i++)) ;;
      -*) ;;
      *) first="${COMP_WORDS[i]}"; break ;;
    esac
  done
  if [[ -n "$first" ]]; then
    words=
    ((i + 1 == COMP_CWORD)) && _spate_program_words "$name $first"
  fi
  if [[ -n "$words" && "${COMP_WORDS[COMP_CWORD-1]}" != "=" ]]; then _spate_offer "$words"
  else COMPREPLY=($(compgen -f -- "${cur#=}")); fi
}
_spate_alone() { _spate_program 0; }
)";

// The options of each command.
std::string BashOptions() {
  std::string cases;
  for (const CommandDef& def : Commands()) {
    std::string options;
    for (const OptionDef& option : Options()) {
      if (option.commands & Bit(def.id)) options += Spellings(option, " ") + " ";
    }
    cases += fmt::format("    \"{}\") options=\"{}\" ;;\n", def.name, options);
  }
  return cases;
}

std::string Bash(DoorPrograms doors) {
  std::string verbs;
  std::vector<std::string> nouns_with_verbs;
  for (const std::string& noun : Nouns()) {
    if (Verbs(noun).empty()) continue;
    nouns_with_verbs.push_back(noun);
    verbs += fmt::format("      {}) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n",
                         noun, fmt::join(Verbs(noun), " "));
  }
  return fmt::format(
      R"(# bash completion for spate; made by `spate __completion bash`.
{functions}
_spate_program_words() {{
  case "$1" in
{programs}{second_words}  esac
}}

_spate() {{
  local cur prev command options word i
  cur="${{COMP_WORDS[COMP_CWORD]}}"
  prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ "${{COMP_WORDS[i]}}" == "--" ]]; then
      if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$cur"))
      else COMPREPLY=($(compgen -f -- "$cur")); fi
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{nouns} {program_names} --help --version" -- "$cur"))
    return
  fi
  command="${{COMP_WORDS[1]}}"
  case "$command" in
    {program_cases}) _spate_program 1; return ;;
  esac
  if ((COMP_CWORD == 2)); then
    case "$command" in
{verbs}    esac
  fi
  case "$command" in
    {nouns_with_verbs}) command="$command ${{COMP_WORDS[2]}}" ;;
  esac
  case "$command $prev" in
{values}  esac
  if [[ "$cur" == -* ]]; then
    case "$command" in
{cases}    esac
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  case "$command" in
{words}  esac
}}
complete -F _spate spate
complete -F _spate_alone {program_names}
)",
      fmt::arg("functions", kBashFunctions), fmt::arg("programs", BashPrograms(doors)),
      fmt::arg("second_words", BashSecondWords(doors)), fmt::arg("words", BashWords()),
      fmt::arg("program_names", fmt::format("{}", fmt::join(ProgramNames(doors), " "))),
      fmt::arg("program_cases", fmt::format("{}", fmt::join(ProgramNames(doors), "|"))),
      fmt::arg("nouns", fmt::format("{}", fmt::join(Nouns(), " "))), fmt::arg("verbs", verbs),
      fmt::arg("nouns_with_verbs", fmt::format("{}", fmt::join(nouns_with_verbs, "|"))),
      fmt::arg("values", BashValues()), fmt::arg("cases", BashOptions()));
}

// ---- zsh ---------------------------------------------------------------------------------------

// In single quotes, with what _arguments reads specially escaped.
std::string ZshText(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshOption(const OptionDef& def) {
  std::string value;
  if (!def.argument.empty()) {
    std::string action;
    if (def.complete == Complete::kFile) action = "_files";
    if (def.complete == Complete::kFolder) action = "_files -/";
    if (def.complete == Complete::kWords) action = fmt::format("({})", ZshText(def.words));
    value = fmt::format(":{}:{}", ZshText(def.argument), action);
  }
  std::string names = fmt::format("--{}", def.name());
  std::string text;
  if (!def.letters.empty()) {
    text += fmt::format("      '*-{}[{}]{}' \\\n", def.letters[0], ZshText(def.help), value);
  }
  text += fmt::format("      '*{}{}[{}]{}' \\\n", names, def.argument.empty() ? "" : "=",
                      ZshText(def.help), value);
  return text;
}

// What completes the words of a command.
std::string ZshWords(const CommandDef& def) {
  if (def.completes == Completes::kFiles) return "*: :_files";
  if (std::string fixed = FixedWords(def); !fixed.empty()) {
    return fmt::format("*: :({})", fixed);
  }
  std::string question = QuestionFor(def);
  if (question.empty()) return "*: : ";
  const char* function = TakesNames(def)                      ? "_spate_names"
                         : def.completes == Completes::kTasks ? "_spate_tasks"
                                                              : "_spate_jobs";
  return fmt::format("*: :{} {}", function, question);
}

std::string ZshPrograms(DoorPrograms doors) {
  std::string text;
  for (const Program& program : AllOf(doors)) {
    ProgramWords words = WordsOf(program);
    text += fmt::format("    {}) options=({}) commands=({}) ;;\n", program.name,
                        fmt::join(UsageOptions(program), " "), fmt::join(words.first, " "));
    for (const auto& [first, second] : words.second) {
      text += fmt::format("    '{} {}') commands=({}) ;;\n", program.name, first,
                          fmt::join(second, " "));
    }
  }
  return text;
}

// The parts that are the same whatever the table says.
constexpr std::string_view kZshFunctions = R"(
# Asks spate, with the options that say whose jobs are meant.
_spate_ask() {
  local -a whose
  local i
  for ((i = 2; i <= $#spate_typed; i++)); do
    case $spate_typed[i] in
      --hub|--local|--access=*|--state=*) whose+=($spate_typed[i]) ;;
      --access|--state) whose+=($spate_typed[i] ${spate_typed[i+1]/#\~\//$HOME/}); ((i++)) ;;
    esac
  done
  timeout 5 ${spate_typed[1]/#\~\//$HOME/} "$@" --quiet $whose 2>/dev/null
}
_spate_jobs() { compadd -V jobs -- last $(_spate_ask "$@") }
_spate_tasks() { compadd -V tasks -S '' -- last. ${^$(_spate_ask "$@")}. }
_spate_names() { compadd -- $(_spate_ask "$@") }

# A program of Parasol, whose name is the word $1.
_spate_program() {
  local -a options commands
  local name=${words[$1]:t} first='' i
  _spate_program_words $name
  if [[ $words[CURRENT] == -* ]]; then
    compadd -S '' -- ${(M)options:#*=}
    compadd -- ${options:#*=}
    return
  fi
  for ((i = $1 + 1; i < CURRENT; i++)); do
    [[ $words[i] == -* ]] || { first=$words[i]; break }
  done
  if [[ -n $first ]]; then
    commands=()
    ((i + 1 == CURRENT)) && _spate_program_words "$name $first"
  fi
  if (( $#commands )); then compadd -- $commands; else _files; fi
}
)";

std::string Zsh(DoorPrograms doors) {
  std::string cases;
  for (const CommandDef& def : Commands()) {
    cases += fmt::format("    '{}')\n      _arguments -S \\\n", def.name);
    for (const OptionDef& option : Options()) {
      if (option.commands & Bit(def.id)) cases += ZshOption(option);
    }
    cases += fmt::format("      '{}' ;;\n", ZshWords(def));
  }
  std::string nouns, verbs;
  for (const std::string& noun : Nouns()) {
    nouns += noun + " ";
    if (Verbs(noun).empty()) continue;
    verbs += fmt::format("    {}) verbs=({}) ;;\n", noun, fmt::join(Verbs(noun), " "));
  }
  return fmt::format(
      R"(#compdef spate {program_names}
# zsh completion for spate; made by `spate __completion zsh`.
{functions}
_spate_program_words() {{
  case $1 in
{programs}  esac
}}

_spate() {{
  local command shift_by=1
  local -a verbs
  local -a spate_typed=($words)
  if [[ ${{words[1]:t}} != spate ]]; then
    _spate_program 1
    return
  fi
  if (( CURRENT == 2 )); then
    compadd {nouns}{program_names} --help --version
    return
  fi
  command=$words[2]
  case $command in
    {program_cases}) _spate_program 2; return ;;
  esac
  case $command in
{verbs}  esac
  if (( $#verbs )); then
    if (( CURRENT == 3 )); then
      compadd $verbs
      return
    fi
    command="$command $words[3]"
    shift_by=2
  fi
  local dashes=$words[(i)--]
  if (( dashes < CURRENT )); then
    (( CURRENT == dashes + 1 )) && {{ _command_names -e; return }}
    _files
    return
  fi
  shift $shift_by words
  (( CURRENT -= shift_by ))
  case $command in
{cases}  esac
}}
_spate "$@"
)",
      fmt::arg("functions", kZshFunctions), fmt::arg("programs", ZshPrograms(doors)),
      fmt::arg("program_names", fmt::format("{}", fmt::join(ProgramNames(doors), " "))),
      fmt::arg("program_cases", fmt::format("{}", fmt::join(ProgramNames(doors), "|"))),
      fmt::arg("nouns", nouns), fmt::arg("verbs", verbs), fmt::arg("cases", cases));
}

// ---- fish --------------------------------------------------------------------------------------

std::string FishText(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string FishCondition(const CommandDef& def) {
  size_t blank = def.name.find(' ');
  if (blank == std::string_view::npos) {
    return fmt::format("__fish_seen_subcommand_from {}", def.name);
  }
  return fmt::format("__fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}",
                     def.name.substr(0, blank), def.name.substr(blank + 1));
}

std::string FishOption(const OptionDef& def, std::string_view condition) {
  std::string line = fmt::format("complete -c spate -n {} -l {}", FishText(condition), def.name());
  if (!def.letters.empty()) line += fmt::format(" -s {}", def.letters[0]);
  if (!def.argument.empty()) line += def.complete == Complete::kFile ? " -rF" : " -x";
  if (def.complete == Complete::kWords) line += fmt::format(" -a {}", FishText(def.words));
  if (def.complete == Complete::kFolder) line += " -a '(__fish_complete_directories)'";
  return line + fmt::format(" -d {}\n", FishText(def.help));
}

// What completes the words of a command; nothing for files.
std::string FishWords(const CommandDef& def) {
  std::string words = FixedWords(def);
  if (std::string question = QuestionFor(def); !question.empty()) {
    words = fmt::format("(__spate_ask {})", question);
    if (def.completes == Completes::kTasks) words += ". last.";
    if (def.completes == Completes::kJobs || def.completes == Completes::kUnfinishedJobs) {
      words += " last";
    }
  }
  if (words.empty()) return "";
  return fmt::format("complete -c spate -k -n {} -a {}\n", FishText(FishCondition(def)),
                     FishText(words));
}

// Of a program by its own name.
std::string FishProgram(const Program& program) {
  std::string text;
  ProgramWords words = WordsOf(program);
  for (const std::string& option : UsageOptions(program)) {
    text += fmt::format("complete -c {} -a {} -n 'string match -q -- \"-*\" (commandline -ct)'\n",
                        program.name, FishText(option));
  }
  if (!words.first.empty()) {
    text += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {}\n", program.name,
                        FishText(fmt::format("{}", fmt::join(words.first, " "))));
  }
  for (const auto& [first, second] : words.second) {
    text += fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}' -f -a {}\n",
                        program.name, first, FishText(fmt::format("{}", fmt::join(second, " "))));
  }
  return text;
}

// Asks spate, with the options that say whose jobs are meant.
constexpr std::string_view kFishFunctions = R"(function __spate_ask
  set -l typed (commandline -opc)
  set -l whose
  set -l i 2
  while test $i -le (count $typed)
    switch $typed[$i]
      case --hub --local '--access=*' '--state=*'
        set -a whose $typed[$i]
      case --access --state
        set -a whose $typed[$i] (string replace -r '^~/' $HOME/ -- $typed[(math $i + 1)])
        set i (math $i + 1)
    end
    set i (math $i + 1)
  end
  timeout 5 $typed[1] $argv --quiet $whose 2>/dev/null
end
# `spate para ...` is completed as `para ...`.
function __spate_program
  complete -C (string join ' ' -- (commandline -opc)[2..-1] (commandline -ct))
end
)";

std::string Fish(DoorPrograms doors) {
  std::string text = "# fish completion for spate; made by `spate __completion fish`.\n";
  text += kFishFunctions;
  text += "complete -c spate -f\n";
  text += fmt::format("complete -c spate -n __fish_use_subcommand -a {}\n",
                      FishText(fmt::format("{}", fmt::join(ProgramNames(doors), " "))));
  for (const std::string& noun : Nouns()) {
    text += fmt::format("complete -c spate -n __fish_use_subcommand -a {}\n", noun);
    for (const std::string& verb : Verbs(noun)) {
      text += fmt::format(
          "complete -c spate -n '__fish_seen_subcommand_from {}; and not "
          "__fish_seen_subcommand_from {}' -a {}\n",
          noun, fmt::join(Verbs(noun), " "), verb);
    }
  }
  for (const CommandDef& def : Commands()) {
    if (def.completes == Completes::kFiles) {
      text += fmt::format("complete -c spate -n '__fish_seen_subcommand_from {}' -F\n", def.name);
    }
    text += FishWords(def);
    for (const OptionDef& option : Options()) {
      if (option.commands & Bit(def.id)) text += FishOption(option, FishCondition(def));
    }
  }
  for (const Program& program : AllOf(doors)) text += FishProgram(program);
  text += fmt::format(
      "complete -c spate -n '__fish_seen_subcommand_from {}' -f -a '(__spate_program)'\n",
      fmt::join(ProgramNames(doors), " "));
  return text;
}

}  // namespace

Result<std::string> Completion(std::string_view shell, DoorPrograms doors) {
  if (shell == "bash") return Bash(doors);
  if (shell == "zsh") return Zsh(doors);
  if (shell == "fish") return Fish(doors);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is no shell that spate knows; write bash, zsh or fish",
                          EscapeForScreen(shell)));
}

}  // namespace spate::cli
