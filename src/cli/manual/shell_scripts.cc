#include "cli/manual/shell_scripts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/units.h"

namespace spate::cli {
namespace {

constexpr std::string_view kBash =
    R"sh(# bash completion for spate; made by `spate completion bash`.
_spate() {{
  local IFS=$'\n' line cur="${{COMP_WORDS[COMP_CWORD]}}" program="${{COMP_WORDS[0]/#\~\//$HOME/}}"
  local word name="${{program##*/}}" words=("${{COMP_WORDS[@]:1:COMP_CWORD}}")
  if [[ "$name" != spate ]]; then
    words=("$name" "${{words[@]}}")
    program="${{program%"$name"}}spate"
  fi
  COMPREPLY=()
  # Words that others chose, such as names of files and nodes, are quoted, so that bash does not
  # run what is in them: here, or by readline (-o filenames).
  while read -r line; do
    printf -v word %q "${{line%%$'\t'*}}"
    case "$word" in
      :files) mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -f -- "${{cur#=}}") ;;&
      :folders) mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -d -- "${{cur#=}}") ;;&
      :files | :folders) compopt -o filenames 2>/dev/null ;;
      :programs) mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -c -- "$cur") ;;
      "$cur"*) COMPREPLY+=("$word") ;;
    esac
  done < <(timeout 5 "$program" __complete "${{words[@]/#\~\//$HOME/}}" 2>/dev/null)
  [[ "${{COMPREPLY[*]}}" != *[=.] ]] || compopt -o nospace 2>/dev/null
}}
complete -F _spate spate {}
)sh";

constexpr std::string_view kZsh = R"sh(#compdef spate {}
# zsh completion for spate; made by `spate completion zsh`.
_spate() {{
  local program=${{words[1]/#\~\//$HOME/}} line
  local name=${{program:t}}
  local -a typed=("${{(@)words[2,CURRENT]/#\~\//$HOME/}}") first open shown described
  if [[ $name != spate ]]; then
    typed=($name "${{(@)typed}}")
    program=${{program%$name}}spate
  fi
  for line in ${{(f)"$(timeout 5 $program __complete "${{(@)typed}}" 2>/dev/null)"}}; do
    case $line in
      :files) compset -P '--*='; _files ;;
      :folders) compset -P '--*='; _files -/ ;;
      :programs) _command_names -e ;;
      *$'\t'*) described+=(${{line%%$'\t'*}}) shown+=("${{line/$'\t'/  -- }}") ;;
      *[=.]) open+=($line) ;;
      *) first+=($line) ;;
    esac
  done
  (( $#first )) && compadd -V words -- $first
  (( $#open )) && compadd -V open -S '' -- $open
  (( $#described )) && compadd -l -d shown -- $described
}}
_spate "$@"
)sh";

constexpr std::string_view kFish =
    R"sh(# fish completion for spate; made by `spate completion fish`.
function __spate_complete
  set -l typed (commandline -opc)
  set -l token (commandline -ct)
  set -l program (string replace -r '^~/' $HOME/ -- $typed[1])
  set -l name (string replace -r '.*/' '' -- $program)
  set -e typed[1]
  if test "$name" != spate
    set typed $name $typed
    set program (string replace -r '[^/]*$' spate -- $program)
  end
  test (count $typed) -gt 0; and set typed (string replace -r '^~/' $HOME/ -- $typed)
  for line in (timeout 5 $program __complete $typed "$token" 2>/dev/null)
    switch $line
      case :files :programs
        __fish_complete_path (string replace -r '^--[^=]*=' '' -- $token)
      case :folders
        __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $token)
      case '-*'
        string match -q -- '-*' $token; and echo $line
      case '*'
        echo $line
    end
  end
end
for program in spate {}
  complete -c $program -f -k -a '(__spate_complete)'
end
)sh";

}  // namespace

Result<std::string> ShellScript(std::string_view shell, DoorPrograms doors) {
  std::vector<std::string_view> names;
  for (const Programs& door : doors) {
    for (const Program& program : door.all) names.push_back(program.name);
  }
  const std::string all = fmt::format("{}", fmt::join(names, " "));
  if (shell == "bash") return fmt::format(kBash, all);
  if (shell == "zsh") return fmt::format(kZsh, all);
  if (shell == "fish") return fmt::format(kFish, all);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a shell that spate knows; write bash, zsh or fish",
                          EscapeForScreen(shell)));
}

}  // namespace spate::cli
