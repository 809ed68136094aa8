#include "plan/shared_needs.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/time.h"
#include "base/units.h"
#include "format/expand.h"
#include "format/template.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/find_program.h"
#include "shepherd/path_lookup.h"
#include "shepherd/user_files.h"

namespace spate::run {
namespace {

constexpr Duration kLookPatience = Duration::Seconds(2);

// The answer to a question about what the user calls `name`; empty when it does not come in time: a
// file server may take for ever to answer. The question is asked by a child that is ended then. A
// thread would stay in it, and the kernel lets nobody who looks for the same file after it be
// killed.
std::string AskInTime(const std::string& name, const shepherd::UserFiles::Question& question) {
  shepherd::UserFiles files;
  std::string answer;
  auto look = [&] { answer = files.Evaluate("", name, question).value_or(""); };
  if (files.Start(look) != 0) return {};
  const int64_t until = os::MonotonicNanos() + kLookPatience.ns;
  while (!files.Read()) {
    Duration left{until - os::MonotonicNanos()};
    if (left.ns <= 0) break;
    os::WaitReadable(files.fd(), left);
  }
  if (!files.is_busy()) look();
  files.End(kLookPatience.ns);
  return answer;
}

// Why no task can read `file`, which the user calls `name`; empty when one may, or when that cannot
// be told: the tasks' own limits hold there.
std::string WhyNoInput(const std::string& file, const std::string& name) {
  return AskInTime(name, [&](bool*) -> std::string {
    auto info = os::Stat(file);
    if (!info) return info.error().message;
    if (info->kind == os::FileKind::kDir) {
      return fmt::format("'{}' is a folder", EscapeForScreen(name));
    }
    if (os::MayAccess(file, "r")) return {};
    return fmt::format("'{}' cannot be read: check its rights", EscapeForScreen(name));
  });
}

const char* NothingDone(TasksRun where) {
  return where == TasksRun::kHere ? "nothing was started" : "nothing was submitted";
}

}  // namespace

Status CheckShell(const client::Surroundings& here, const JobSettings& settings, TasksRun where) {
  if (settings.shell.empty()) {
    if (!settings.bash || where != TasksRun::kHere || !os::FindBash().empty()) return {};
    return Fail(ErrorKind::kInvalid,
                fmt::format("the lines of this job run in bash, as recorded when it was made, but "
                            "this machine has no bash: install it\n{}",
                            NothingDone(where)));
  }
  std::string program = settings.shell.substr(0, settings.shell.find_first_of(" \t"));
  std::string path = here.environment.GetOr("PATH", "");
  for (const std::string& variable : settings.environment) {
    if (variable.starts_with("PATH=")) path = variable.substr(5);
  }
  shepherd::PathLookup lookup;
  const auto& found = lookup.Find(program, path);
  std::string file = found.path.empty() ? "" : os::JoinPath(settings.cwd, found.path);
  if (!file.empty() && os::MayAccess(file, "x")) return {};
  std::string told =
      fmt::format("--shell: '{}' is not a program that can be started", EscapeForScreen(program));
  if (where == TasksRun::kHere) {
    told += ": check the name, and PATH";
  } else {
    told += fmt::format(
        " on this machine: check the name, and PATH; if the nodes have it, write --shell {}",
        EscapeForScreen(ShellQuote("env " + settings.shell)));
  }
  return Fail(ErrorKind::kInvalid, fmt::format("{}\n{}", told, NothingDone(where)));
}

Status CheckStdin(const JobSettings& settings, TasksRun where) {
  if (settings.row_kind == RowKind::kInput) return {};  // pieces, which are ours
  const std::string& input = settings.stdin_pattern;
  auto pattern = format::Template::Parse(
      input,
      {.names = settings.value_names, .job = true, .replace = format::ReplaceOf(settings.replace)});
  if (input.empty() || pattern.has_placeholder()) return {};
  if (where == TasksRun::kOnNodes && !os::Exists(settings.cwd)) return {};
  std::string why = WhyNoInput(os::JoinPath(settings.cwd, input), input);
  if (why.empty()) return {};
  if (where == TasksRun::kOnNodes) {
    why += "; if the nodes have the file, write COMMAND < FILE instead of --stdin";
  }
  return Fail(ErrorKind::kInvalid, fmt::format("--stdin: {}\n{}", why, NothingDone(where)));
}

Status CheckSharedNeeds(const client::Surroundings& here, const JobSettings& settings,
                        TasksRun where) {
  auto shell = CheckShell(here, settings, where);
  return shell ? CheckStdin(settings, where) : shell;
}

std::string ReadBeginning(const std::string& file) {
  constexpr size_t kBeginning = 16 * 1024;
  return AskInTime(file, [&](bool*) -> std::string {
    auto info = os::Stat(file);
    if (!info || info->kind != os::FileKind::kFile) return {};
    auto opened = os::OpenRead(file);
    std::string text(kBeginning, '\0');
    auto size = opened ? os::ReadSome(opened->get(), text.data(), text.size(), file) : 0;
    text.resize(size.value_or(0));
    return text;
  });
}

std::vector<size_t> MissingOf(const std::vector<std::string>& files) {
  std::vector<size_t> missing;
  if (files.empty()) return missing;
  // One character for each file.
  const std::string answer = AskInTime(files.front(), [&](bool*) {
    std::string each;
    for (const std::string& file : files) {
      auto info = os::Stat(file);
      each += !info && info.error().kind == ErrorKind::kNotFound ? 'n' : 'y';
    }
    return each;
  });
  for (size_t i = 0; i < answer.size(); ++i) {
    if (answer[i] == 'n') missing.push_back(i);
  }
  return missing;
}

}  // namespace spate::run
