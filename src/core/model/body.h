// What an attempt executes: steps one after the other; in a step, commands that run together and
// are linked by pipes; for a plain command one of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spate {

// Checks of files, as Parasol has them.
enum class CheckKind : uint8_t { kExists, kExistsPlus, kLine, kLinePlus, kLast = kLinePlus };
enum class CheckWhen : uint8_t { kIn, kOut, kLast = kOut };
struct Check {
  CheckWhen when = CheckWhen::kIn;
  CheckKind kind = CheckKind::kExists;
  std::string file;  // relative to the job's folder
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "when", self.when);
    visit(2, "kind", self.kind);
    visit(3, "file", self.file);
  }
  friend bool operator==(const Check&, const Check&) = default;
};
// Why a file fails a check: "F does not exist", "F is empty", "F has an incomplete last line".
const char* CheckKindName(CheckKind kind);  // "exists", "exists+", "line", "line+"

struct Command {
  // argv[0] is looked up in the task's PATH when it has no slash. Shell text is
  // {"/bin/sh", "-c", text}.
  std::vector<std::string> argv;
  friend bool operator==(const Command&, const Command&) = default;
};

struct Step {
  std::vector<Command> commands;  // the output of each goes to the input of the next
  friend bool operator==(const Step&, const Step&) = default;
};

// A file to be laid into the task's own folder before it starts.
struct TaskPut {
  std::string name;
  uint32_t mode = 0;
  std::string from;  // where the node has its content
  friend bool operator==(const TaskPut&, const TaskPut&) = default;
};

struct TaskBody {
  std::string cwd;  // absolute, or empty: the job's folder
  std::vector<Step> steps;
  std::vector<Check> output_checks;
  // Redirections: empty means the null device (in) or collected by the shepherd (out, err).
  // Relative to the job's folder. When out and err are the same path, both go to one file.
  std::string stdin_file;
  std::string stdout_file;
  std::string stderr_file;
  bool late_stderr = false;  // stderr_file is made when something is written to it, not before
  std::vector<std::string> environment;  // "NAME=value", on top of the job's
  std::vector<TaskPut> puts;
  std::vector<std::string> gets;  // files of its folder that come home with its end
  friend bool operator==(const TaskBody&, const TaskBody&) = default;
};

}  // namespace spate
