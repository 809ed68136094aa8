#include "submit/hub_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/task_text.h"
#include "cli/job/failures.h"
#include "format/expand.h"
#include "format/template.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "submit/collector.h"
#include "submit/hub_wait.h"

namespace spate::submit {
namespace {

// ---- There -------------------------------------------------------------------------------------

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
Status CheckRanks(const cli::TaskList& tasks, const std::string& pattern) {
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
Status CheckNamesOfRanks(const cli::TaskList& tasks, const JobSettings& settings) {
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
Status CheckGets(const cli::TaskList& tasks, const JobSettings& settings) {
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
Status ForEachTask(const cli::TaskList& tasks, const JobSettings& settings,
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
Status CheckStreams(const cli::TaskList& tasks, const JobSettings& settings) {
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

// The names of all files that any task needs.
Result<std::set<std::string>> NamesOf(const cli::TaskList& tasks, const JobSettings& settings) {
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

// The collector of the forwarded data then writes nowhere else, whatever a hub may send.
Status CheckForwards(const cli::TaskList& tasks, const JobSettings& settings) {
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

Result<std::string> ReadOne(const std::string& path, uint32_t& mode) {
  auto info = os::Stat(path);
  if (!info) return Within("--put", info.error());
  if (info->kind != os::FileKind::kFile) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--put: '{}' is not a file", EscapeForScreen(path)));
  }
  if (info->size > kLimits.file_bytes) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("--put: '{}' has {}, and at most {} are brought along; use a shared "
                    "file system, or fetch it in the task",
                    EscapeForScreen(path), FormatSize(info->size), FormatSize(kLimits.file_bytes)));
  }
  mode = info->permissions & 0777;
  auto bytes = os::ReadFile(path, kLimits.file_bytes);
  if (!bytes) return Within("--put", bytes.error());
  return bytes;
}

// ---- Back --------------------------------------------------------------------------------------

// Writes the files of a pack below a folder. Each is there whole or not at all.
class Unpacker {
 public:
  explicit Unpacker(std::string folder) : folder_(std::move(folder)) {}
  Status Feed(std::string_view bytes) { return pack_.Feed(bytes); }
  ~Unpacker() {
    if (fd_) (void)os::RemoveFile(part_);
  }
  // Files that other tasks of the job had brought by the same name.
  size_t doubles() const { return doubles_; }
  bool empty() const { return names_.empty(); }

 private:
  Status Begin(const PackedFile& file);
  Status Bytes(std::string_view bytes) {
    return fd_ ? os::WriteAll(fd_.get(), bytes, part_) : Status();
  }
  Status End();

  // The file that was opened, whatever others put in its place meanwhile.
  static std::string PathOf(const os::Fd& fd) { return fmt::format("/proc/self/fd/{}", fd.get()); }

  const std::string folder_;
  PackReader pack_{{.begin = [this](const PackedFile& file) { return Begin(file); },
                    .bytes = [this](std::string_view bytes) { return Bytes(bytes); },
                    .end = [this] { return End(); }}};
  std::set<std::string> names_;
  // State of the file that comes now.
  os::Fd dir_;
  std::string shown_;
  std::string path_;
  std::string part_;
  uint32_t mode_ = 0;
  os::Fd fd_;
  size_t doubles_ = 0;
};

Status Unpacker::Begin(const PackedFile& file) {
  if (IsForward(file)) return Fail(ErrorKind::kCorrupt, "a file of a task is not in its folder");
  if (!names_.insert(file.name).second) {
    ++doubles_;
    fmt::print(stderr,
               "spate: '{}' was brought by several tasks; only the first one's is written\n",
               EscapeForScreen(file.name));
    return {};
  }
  size_t slash = file.name.rfind('/');
  std::string below = slash == std::string::npos ? "" : file.name.substr(0, slash);
  auto dir = TRY(os::OpenDirBelow(folder_, below));
  dir_ = std::move(dir);
  shown_ = os::JoinPath(folder_, file.name);
  path_ = os::JoinPath(PathOf(dir_), file.name.substr(slash + 1));
  // Nobody's yet: a file of that name may be the user's, or of another call that writes here.
  part_ = fmt::format("{}.spate-{}", path_, os::OwnPid());
  auto fd = os::OpenWrite(part_, os::OpenHow::kCreateNew, 0600);
  if (!fd) return Within(shown_, fd.error());
  fd_ = std::move(*fd);
  mode_ = file.mode;
  return {};
}

Status Unpacker::End() {
  if (!fd_) return {};
  Status done = os::SetPermissions(PathOf(fd_), mode_ & ~os::CurrentUmask());
  fd_.Reset();
  if (done) done = os::Rename(part_, path_);
  if (done) return done;
  (void)os::RemoveFile(part_);
  return Within(shown_, done.error());
}

struct Fetched {
  int code = cli::kExitSuccess;
  bool any = false;
};
// One question, as it comes.
Result<Fetched> Fetch(client::HubCall& call, const std::vector<wire::TaskPick>& tasks,
                      const std::string& folder) {
  Unpacker unpacker(folder);
  Fetched fetched;
  wire::ReadOutput question{tasks, ~0u, wire::Streams::kFiles};
  TRY(client::Ask(call, std::move(question), [&](const OutputFacts& piece) -> Status {
    if (piece.what == OutputFacts::What::kDamaged) {
      fetched.code = cli::kExitCouldNotRun;
      fmt::print(stderr, "spate: {}: {}\n", cli::TaskId(piece.job, piece.index), piece.text);
    }
    bool bytes = piece.what == OutputFacts::What::kBytes;
    return bytes ? unpacker.Feed(piece.text) : Status();
  }));
  fetched.any = !unpacker.empty();
  if (fetched.code == cli::kExitSuccess && unpacker.doubles() > 0) {
    fetched.code = cli::kExitTasksFailed;
  }
  return fetched;
}

// The same of what is forwarded.
Status Collect(client::HubCall& call, const HubSetting& setting, JobId job,
               const std::string& folder, Fetched& fetched) {
  auto collected = TRY(CollectForwards(call, setting, job, folder));
  fetched.any |= collected.tasks > 0;
  if (collected.damaged > 0) fetched.code = cli::kExitCouldNotRun;
  return {};
}

// The one job that was named, and not some of its tasks: what is forwarded is appended in the order
// in which all of them ended.
Result<std::optional<JobId>> WholeJobOf(client::HubCall& call, const wire::TaskPick& pick) {
  const JobSelector& jobs = pick.jobs;
  const bool one = jobs.ranges.size() == 1 && jobs.ranges.front().first == jobs.ranges.front().last;
  if (one && !jobs.last && !jobs.all) return JobId(jobs.ranges.front().first);
  if (!jobs.last || !jobs.ranges.empty() || jobs.all) return std::nullopt;
  TasksOfJob last;
  last.all = true;
  auto found = TRY(client::AskOne(call, wire::FindTasks{{last}}));
  for (const TasksOfJob& each : found.tasks) {
    if (each.job) return JobId(*each.job);
  }
  return std::nullopt;
}

Result<int> GetFrom(client::HubCall& call, const HubSetting& setting, const std::string& job,
                    const std::string& folder) {
  auto tasks = TRY(cli::SelectTasks({&job, 1}));
  auto fetched = TRY(Fetch(call, tasks, folder));
  auto whole = TRY(WholeJobOf(call, tasks.front()));
  if (whole) {
    TRY(Collect(call, setting, *whole, folder, fetched));
    auto lost =
        cli::AskNotKept(call, {.ranges = {{whole->value, whole->value, 1}}},
                        [](const std::string& text) { fmt::print(stderr, "spate: {}\n", text); });
    if (fetched.code == cli::kExitSuccess) fetched.code = lost.value_or(cli::kExitSuccess);
  }
  if (!fetched.any && fetched.code == cli::kExitSuccess) {
    fmt::print(stderr,
               "spate: no files have been copied back yet (--get and --forward copy them when a "
               "task ends); see: {}\n",
               present::TextOf(Advice("job info", job), setting.reach));
  }
  return fetched.code;
}

Result<int> Get(const cli::Invocation& invocation, bool& hung) {
  auto setting = TRY(FindSetting(invocation.words));
  const std::vector<std::string>& words = invocation.words.words;
  std::string folder = words.size() > 1 ? words[1] : ".";
  TRY(os::MakeDirs(folder));
  client::HubCall call(*setting.loop, setting.target);
  auto connected = call.Connect();
  hung = call.hung();
  TRY(connected);
  auto code = GetFrom(call, setting, words.empty() ? "last" : words[0], folder);
  if (code) return code;
  return std::unexpected(present::Reached(std::move(code.error()), setting.reach));
}

}  // namespace

bool HasForwards(const cli::TaskList& tasks, const JobSettings& settings) {
  return tasks.forwards || !settings.forward_patterns.empty() ||
         !settings.forward_file_patterns.empty();
}

Result<std::vector<std::string>> ReadFiles(const cli::TaskList& tasks, JobSettings& settings) {
  std::vector<std::string> pieces;
  TRY(CheckPuts(settings));
  TRY(CheckGets(tasks, settings));
  if (settings.has_own_folder()) {
    TRY(CheckStreams(tasks, settings));
  }
  if (HasForwards(tasks, settings)) {
    TRY(CheckForwards(tasks, settings));
  }
  if (settings.put_patterns.empty()) return pieces;
  auto names = TRY(NamesOf(tasks, settings));
  std::map<std::string, uint32_t> known;  // contents, and their first pieces
  uint64_t total = 0;
  for (const std::string& name : names) {
    PutFile file{.name = name};
    auto bytes = TRY(ReadOne(os::JoinPath(settings.cwd, name), file.mode));
    file.size = bytes.size();
    auto [content, fresh] = known.try_emplace(std::move(bytes), pieces.size());
    file.first_piece = content->second;
    settings.puts.push_back(std::move(file));
    if (!fresh) continue;
    std::string_view rest = content->first;
    total += rest.size();
    if (total > kLimits.files_bytes) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--put: the files have more than {} in all, which is the most that a "
                              "job brings along",
                              FormatSize(kLimits.files_bytes)));
    }
    do {
      pieces.emplace_back(rest.substr(0, kPutPieceBytes));
      rest.remove_prefix(pieces.back().size());
    } while (!rest.empty());
  }
  return pieces;
}

Result<int> BringHome(client::HubCall& call, const HubSetting& setting,
                      const Submission& submission, JobId job, int code) {
  bool ended = code == cli::kExitSuccess || code == cli::kExitTasksFailed;
  const JobSettings& settings = *submission.head.settings;
  if (!ended || (settings.get_patterns.empty() && !submission.forwards)) return code;
  auto say = [](const std::string& text) { fmt::print(stderr, "spate: {}\n", text); };
  Patience patience(call);
  Result<Fetched> fetched = Fetched();
  do {  // all of them again: each file is replaced as a whole
    fetched = Fetched();
    if (!settings.get_patterns.empty()) {
      wire::TaskPick all;
      all.tasks.push_back({.job = job.value, .all = true, .ranges = {}, .names = {}});
      fetched = Fetch(call, {std::move(all)}, settings.cwd);
    }
    if (fetched && submission.forwards) {
      auto done = Collect(call, setting, job, settings.cwd, *fetched);
      if (!done) fetched = std::unexpected(done.error());
    }
  } while (!fetched && !call.connected() && patience.Again(fetched.error(), say));
  if (fetched && fetched->code == cli::kExitSuccess) return code;
  fmt::print(stderr, "spate: {}to fetch what job {} has brought: {}\n",
             fetched ? "" : present::TextOf(fetched.error(), setting.reach) + "; ", job.value,
             present::TextOf(Advice("job get", job.value), setting.reach));
  return call.interrupted() ? cli::kExitInterrupted : cli::kExitCouldNotRun;
}

int GetFiles(const cli::Invocation& invocation) {
  bool hung = false;
  auto code = Get(invocation, hung);
  return cli::Conclude(invocation, code, hung);
}

}  // namespace spate::submit
