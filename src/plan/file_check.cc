#include "plan/file_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/task_files.h"
#include "format/expand.h"
#include "format/template.h"

namespace spate::cli {
namespace {

// A name that is known only on the node is not for --put.
Status CheckPuts(const JobSettings& settings) {
  for (const std::string& pattern : settings.put_patterns) {
    for (const char* late : {"{%}", "{job}"}) {
      if (pattern.find(late) == std::string::npos) continue;
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--put '{}': {} is not known yet when the file is read",
                              EscapeForScreen(pattern), late));
    }
  }
  return {};
}

// Checks that {rank} means something for all tasks.
Status CheckRanks(const TaskList& tasks, const std::string& pattern) {
  auto start_is = [](GangShape::Start start) {
    return [start](const TaskClass& each) { return each.gang.start == start; };
  };
  std::string why;
  if (std::ranges::any_of(tasks.requests,
                          [](const TaskClass& each) { return each.gang.empty(); })) {
    why = "{rank} is for parallel jobs: add --procs or --nodes, or leave it out";
  } else if (std::ranges::any_of(tasks.requests, start_is(GangShape::Start::kFirst))) {
    why =
        "{rank} cannot be used with --start first: the other ranks are the launcher's, and only "
        "the first node's files come home; name these without {rank}, or use --start mpi or each";
  }
  if (why.empty()) return {};
  return Fail(ErrorKind::kInvalid, fmt::format("--get '{}': {}", EscapeForScreen(pattern), why));
}

// Names that are looked at before submission. Unpacker reports those behind.
constexpr size_t kMostNames = 1'000'000;

// Checks that each rank of each task has its own names, unlike "out.{#}{rank}" for rank 11 of task
// 1 and rank 1 of task 11.
Status CheckNamesOfRanks(const TaskList& tasks, const JobSettings& settings) {
  auto compiled = TRY(format::CompileJob(settings, JobId(1)));
  std::map<std::string, TaskIndex> names;
  std::vector<uint32_t> ranks(tasks.count);
  for (const RequestRun& run : tasks.runs) {
    for (TaskIndex i = run.first; i < run.first + run.count; ++i) {
      ranks[i] = tasks.requests[run.request].gang.procs;
    }
  }
  Status status;
  TaskIndex index = 0;
  tasks.rows([&](std::string_view row) {
    if (!status || names.size() > kMostNames) return;
    auto body = compiled->Body(row, {.index = index, .ranks = ranks[index]});
    if (!body) {
      status = std::unexpected(body.error());
      return;
    }
    for (std::string& name : body->gets) {
      auto [known, fresh] = names.try_emplace(std::move(name), index);
      if (fresh || !status) continue;
      status = Fail(
          ErrorKind::kInvalid,
          fmt::format("--get: {} would bring home the same file '{}'; keep the placeholders apart, "
                      "as in --get 'out.{{#}}.{{rank}}'",
                      known->second == index
                          ? fmt::format("two ranks of task {}", index + 1)
                          : fmt::format("tasks {} and {}", known->second + 1, index + 1),
                      EscapeForScreen(known->first)));
    }
    ++index;
  });
  return status;
}

// Checks that names differ from task to task, and from rank to rank where they name ranks.
Status CheckGets(const TaskList& tasks, const JobSettings& settings) {
  bool has_rank = false;
  for (const std::string& pattern : settings.get_patterns) {
    auto parsed = format::Template::Parse(pattern, {.names = settings.value_names,
                                                    .job = true,
                                                    .replace = format::ReplaceOf(settings.replace),
                                                    .rank = true});
    has_rank = has_rank || parsed.has_rank();
    if (parsed.has_rank()) {
      TRY(CheckRanks(tasks, pattern));
    }
    if (tasks.count < 2 || parsed.differs_by_task()) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("--get '{}': {} tasks would bring home a file of the same name; put a "
                            "placeholder into it, as in --get 'out.{{#}}{}'",
                            EscapeForScreen(pattern), FormatCount(tasks.count),
                            parsed.has_rank() ? ".{rank}" : ""));
  }
  return has_rank ? CheckNamesOfRanks(tasks, settings) : Status();
}

// Visits what each task runs, with the task's number, up to the first error.
Status ForEachTask(const TaskList& tasks, const JobSettings& settings,
                   const std::function<Status(const TaskBody&, TaskIndex number)>& visit) {
  auto compiled = TRY(format::CompileJob(settings, JobId(1)));
  Status status;
  TaskIndex number = 0;
  tasks.rows([&](std::string_view row) {
    if (!status) return;
    auto body = format::Expand(compiled, row, number++, 1);
    status = body ? visit(*body, number) : Status(std::unexpected(body.error()));
  });
  return status;
}

// Refuses files of --stdin that are missing in the tasks' own folders, and files of --stdout and
// --stderr that are removed with them.
Status CheckStreams(const TaskList& tasks, const JobSettings& settings) {
  const std::string& input = settings.stdin_pattern;
  if (input.empty() && settings.stdout_pattern.empty() && settings.stderr_pattern.empty()) {
    return {};
  }
  return ForEachTask(tasks, settings, [&](const TaskBody& body, TaskIndex) -> Status {
    const std::string read = std::filesystem::path(body.stdin_file).lexically_normal().string();
    const bool there = read.starts_with('/') ||
                       std::ranges::find(body.puts, read, &TaskPut::name) != body.puts.end();
    if (!input.empty() && !there) {
      return Fail(
          ErrorKind::kInvalid,
          fmt::format("--stdin '{0}': with --put or --get, each task looks for this file in its "
                      "own folder; to copy the file there, add --put '{0}'",
                      EscapeForScreen(input)));
    }
    for (const auto& [option, pattern, file] :
         {std::tuple{"--stdout", &settings.stdout_pattern, &body.stdout_file},
          {"--stderr", &settings.stderr_pattern, &body.stderr_file}}) {
      const std::string name = std::filesystem::path(*file).lexically_normal().string();
      const bool stays = name.empty() || name.starts_with('/');
      if (stays || std::ranges::find(body.gets, name) != body.gets.end()) continue;
      const std::string typed = EscapeForScreen(*pattern);
      return Fail(ErrorKind::kInvalid,
                  fmt::format("{} '{}': a task of --put or --get writes it into its own folder, "
                              "which is then removed; to bring the file home, add --get '{}'",
                              option, typed, typed.substr(typed.starts_with("./") ? 2 : 0)));
    }
    return {};
  });
}

// The collector of the forwarded data then writes nowhere else, whatever a hub may send.
Status CheckForwards(const TaskList& tasks, const JobSettings& settings) {
  return ForEachTask(tasks, settings, [](const TaskBody& body, TaskIndex number) -> Status {
    for (const TaskForward& forward : body.forwards) {
      if (CheckTaskFileName(forward.to)) continue;
      return Fail(ErrorKind::kInvalid,
                  fmt::format("task {} forwards to '{}': with a hub that is a file below the "
                              "job's folder, by a relative path without '..'",
                              number, EscapeForScreen(forward.to)));
    }
    return {};
  });
}

}  // namespace

bool HasForwards(const TaskList& tasks, const JobSettings& settings) {
  return tasks.forwards || !settings.forward_patterns.empty() ||
         !settings.forward_file_patterns.empty();
}

Status CheckTaskFiles(const TaskList& tasks, const JobSettings& settings) {
  TRY(CheckPuts(settings));
  TRY(CheckGets(tasks, settings));
  if (settings.has_own_folder()) {
    TRY(CheckStreams(tasks, settings));
  }
  return HasForwards(tasks, settings) ? CheckForwards(tasks, settings) : Status();
}

Result<std::set<std::string>> FilesToPut(const TaskList& tasks, const JobSettings& settings) {
  std::set<std::string> names;
  TRY(ForEachTask(tasks, settings, [&](const TaskBody& body, TaskIndex) -> Status {
    for (const TaskPut& put : body.puts) names.insert(put.name);
    if (names.size() <= kLimits.put_files) return {};
    return Fail(ErrorKind::kInvalid,
                fmt::format("--put: the tasks name more than {} files; make several jobs of them, "
                            "or put them into one archive",
                            FormatCount(kLimits.put_files)));
  }));
  return names;
}

}  // namespace spate::cli
