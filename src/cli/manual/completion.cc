// Completion scripts. The word after `--` and everything behind it is completed as a command and
// files; before it the table says what an option's value may be.
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

// "-j --jobs"
std::string Spellings(const OptionDef& def, std::string_view separator) {
  std::string text = fmt::format("--{}", def.name());
  if (!def.letters.empty()) text = fmt::format("-{}{}{}", def.letters[0], separator, text);
  return text;
}

// ---- bash --------------------------------------------------------------------------------------

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
    // A letter may mean another option in another command; the long name does not.
    text += fmt::format("    --{}) {}; return ;;\n", def.name(), action);
  }
  return text;
}

std::string Bash() {
  std::string cases;
  for (const CommandDef& def : Commands()) {
    std::string options;
    for (const OptionDef& option : Options()) {
      if (option.commands & Bit(def.id)) options += Spellings(option, " ") + " ";
    }
    cases += fmt::format("    \"{}\") options=\"{}\" ;;\n", def.name, options);
  }
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
    COMPREPLY=($(compgen -W "{nouns} --help --version" -- "$cur"))
    return
  fi
  command="${{COMP_WORDS[1]}}"
  if ((COMP_CWORD == 2)); then
    case "$command" in
{verbs}    esac
  fi
  case "$command" in
    {nouns_with_verbs}) command="$command ${{COMP_WORDS[2]}}" ;;
  esac
  case "$prev" in
{values}  esac
  if [[ "$cur" == -* ]]; then
    case "$command" in
{cases}    esac
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  [[ "$command" == run ]] && COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -F _spate spate
)",
      fmt::arg("nouns", fmt::format("{}", fmt::join(Nouns(), " "))), fmt::arg("verbs", verbs),
      fmt::arg("nouns_with_verbs", fmt::format("{}", fmt::join(nouns_with_verbs, "|"))),
      fmt::arg("values", BashValues()), fmt::arg("cases", cases));
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

std::string Zsh() {
  std::string cases;
  for (const CommandDef& def : Commands()) {
    cases += fmt::format("    '{}')\n      _arguments -S \\\n", def.name);
    for (const OptionDef& option : Options()) {
      if (option.commands & Bit(def.id)) cases += ZshOption(option);
    }
    cases += fmt::format("      '*:: :{}' ;;\n", def.id == Command::kRun ? "_files" : "");
  }
  std::string nouns, verbs;
  for (const std::string& noun : Nouns()) {
    nouns += noun + " ";
    if (Verbs(noun).empty()) continue;
    verbs += fmt::format("    {}) verbs=({}) ;;\n", noun, fmt::join(Verbs(noun), " "));
  }
  return fmt::format(R"(#compdef spate
# zsh completion for spate; made by `spate __completion zsh`.
_spate() {{
  local command shift_by=1
  local -a verbs
  if (( CURRENT == 2 )); then
    compadd {nouns}--help --version
    return
  fi
  command=$words[2]
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

std::string Fish() {
  std::string text = "# fish completion for spate; made by `spate __completion fish`.\n";
  text += "complete -c spate -f\n";
  for (const std::string& noun : Nouns()) {
    text += fmt::format("complete -c spate -n __fish_use_subcommand -a {}\n", noun);
    for (const std::string& verb : Verbs(noun)) {
      text += fmt::format(
          "complete -c spate -n '__fish_seen_subcommand_from {}; and not "
          "__fish_seen_subcommand_from {}' -a {}\n",
          noun, fmt::join(Verbs(noun), " "), verb);
    }
  }
  text += "complete -c spate -n '__fish_seen_subcommand_from run' -F\n";
  for (const CommandDef& def : Commands()) {
    for (const OptionDef& option : Options()) {
      if (option.commands & Bit(def.id)) text += FishOption(option, FishCondition(def));
    }
  }
  return text;
}

}  // namespace

Result<std::string> Completion(std::string_view shell) {
  if (shell == "bash") return Bash();
  if (shell == "zsh") return Zsh();
  if (shell == "fish") return Fish();
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is no shell that spate knows; write bash, zsh or fish",
                          EscapeForScreen(shell)));
}

}  // namespace spate::cli
