#include "submit/hub_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/options/select.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/terminal.h"
#include "plan/file_check.h"
#include "present/advice.h"
#include "submit/collector.h"
#include "submit/hub_wait.h"
#include "view/failures.h"
#include "view/task_text.h"

namespace spate::submit {
namespace {

// ---- There -------------------------------------------------------------------------------------

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
  TRY(client::Query(call, std::move(question), [&](const OutputFacts& piece) -> Status {
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
  auto found = TRY(client::QueryOne(call, wire::FindTasks{{last}}));
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

Result<std::vector<std::string>> ReadFiles(const cli::TaskList& tasks, JobSettings& settings) {
  std::vector<std::string> pieces;
  if (settings.put_patterns.empty()) return pieces;
  auto names = TRY(cli::FilesToPut(tasks, settings));
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
