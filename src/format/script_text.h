// Recognizes scripts among files that are given as lists of tasks: a script's lines belong
// together, and have another meaning when each runs alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spate::format {

struct ScriptText {
  std::string sign;                          // what tells: "#!/bin/bash", "#SBATCH -n 4"
  std::string interpreter;                   // with its arguments; empty: the first line names none
  std::vector<std::string> directives = {};  // of batch systems: whole lines, before any command
  friend bool operator==(const ScriptText&, const ScriptText&) = default;
};

// `beginning`: the first lines of the file. A list may begin with #! and spate itself.
std::optional<ScriptText> FindScript(std::string_view beginning);

}  // namespace spate::format
