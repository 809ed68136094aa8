#include "view/joblog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "core/model/ranges.h"
#include "os/file.h"
#include "os/own_dir.h"

namespace spate::cli {
namespace {

constexpr std::string_view kHeader =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
constexpr size_t kLogPiece = 256 * 1024;

// End of the file's last whole line.
Result<uint64_t> WholeLines(int fd, uint64_t size, const std::string& path) {
  while (size > 0) {
    size_t length = std::min<uint64_t>(size, kLogPiece);
    auto piece = TRY(os::ReadAt(fd, size - length, length, path));
    size_t newline = piece.rfind('\n');
    if (newline != std::string::npos) return size - length + newline + 1;
    size -= length;
  }
  return 0;
}

Status CutUnfinished(const std::string& path) {
  auto file = TRY(os::OpenNamed(path, os::OpenHow::kReadWrite));
  auto info = TRY(os::StatFd(file.get(), path));
  if (info.kind != os::FileKind::kFile) return {};
  auto whole = TRY(WholeLines(file.get(), info.size, path));
  if (whole == info.size) return {};
  return os::Truncate(file.get(), whole, path);
}

}  // namespace

std::string JoblogPath(const std::string& cwd, std::string_view option) {
  return option.empty() ? "" : os::JoinPath(cwd, option.substr(option.starts_with('+') ? 1 : 0));
}

Status CheckNoRows(const std::string& path) {
  auto info = os::Stat(path);
  if (!info || info->kind != os::FileKind::kFile || info->size <= kHeader.size()) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("--joblog: '{}' has tasks of a run that Spate does not know, so all of "
                          "them would run again; nothing was started\n"
                          "to finish a run of GNU parallel: parallel --joblog ... --resume ...\n"
                          "to run only the other tasks: remove those in the file from the list, as "
                          "in docs/user/guide.md (From GNU parallel)\n"
                          "to run all tasks: name another file",
                          EscapeForScreen(path)));
}

std::pair<int, int> JoblogStatus(const AttemptEnd& end) {
  constexpr int kTerm = 15;
  constexpr int kKill = 9;
  switch (end.cause) {
    case Cause::kSuccess:
      return {0, 0};
    case Cause::kExit:
    case Cause::kStart:
      return {end.status == 0 ? 1 : end.status, 0};
    case Cause::kSignal:
      return {0, end.status};
    case Cause::kTimeLimit:
      return {-1, kTerm};
    case Cause::kMemory:
    case Cause::kExcess:
      return {0, kKill};
    case Cause::kCheck:
      return {1, 0};
    case Cause::kNode:
    case Cause::kStopped:
      return {-1, 0};
  }
  return {-1, 0};
}

std::string JoblogLine(const AttemptEnd& end, std::string_view command) {
  std::string text(command);
  std::replace(text.begin(), text.end(), '\n', '\0');
  auto [exit, signal] = JoblogStatus(end);
  return fmt::format("{}\t:\t{:.3f}\t{:10.3f}\t0\t{}\t{}\t{}\t{}\n", end.ref.index + 1,
                     end.start.seconds(), static_cast<double>(end.wall.millis()) / 1000,
                     end.stdout_total, exit, signal, text);
}

Result<std::vector<TaskRange>> MissingInJoblog(const std::string& path,
                                               const std::vector<TaskRange>& ended) {
  uint32_t count = ended.empty() ? 0 : ended.back().first + ended.back().count;
  std::vector<bool> there(count);
  if (os::Exists(path)) {
    auto file = TRY(os::OpenRead(path));
    std::string carry;
    for (uint64_t offset = 0;;) {
      auto piece = TRY(os::ReadAt(file.get(), offset, kLogPiece, path));
      if (piece.empty()) break;
      offset += piece.size();
      carry += piece;
      size_t at = 0;
      for (size_t end; (end = carry.find('\n', at)) != std::string::npos; at = end + 1) {
        uint32_t seq = 0;
        auto [stop, error] = std::from_chars(carry.data() + at, carry.data() + end, seq);
        if (error == std::errc() && *stop == '\t' && seq > 0 && seq <= count) there[seq - 1] = true;
      }
      carry.erase(0, at);
    }
  }
  std::vector<TaskRange> missing;
  for (const TaskRange& range : ended) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (there[i]) continue;
      AppendIndex(missing, i);
    }
  }
  return missing;
}

Result<std::unique_ptr<Joblog>> Joblog::Open(std::string path, bool append,
                                             std::function<std::string(TaskIndex)> command,
                                             std::function<void(const Error&)> on_broken) {
  if (append && os::Exists(path)) {
    if (auto ok = CutUnfinished(path); !ok) return Within("--joblog", ok.error());
  }
  auto how = append ? os::OpenHow::kAppend : os::OpenHow::kEmptied;
  auto file = os::OpenNamed(path, how);
  if (!file) return Within("--joblog", file.error());
  auto info = os::StatFd(file->get(), path);
  std::unique_ptr<Joblog> log(new Joblog);
  log->path_ = std::move(path);
  log->file_ = std::move(*file);
  log->command_ = std::move(command);
  log->on_broken_ = std::move(on_broken);
  if (!info || info->size == 0) {
    auto ok = os::WriteAll(log->file_.get(), kHeader, log->path_);
    if (!ok) return Within("--joblog", ok.error());
  }
  return log;
}

void Joblog::OnEnded(const TaskEnded& ended) {
  if (broken_ || !EndsTask(ended.verdict)) return;
  std::string line = JoblogLine(ended.end, command_(ended.end.ref.index));
  auto ok = os::WriteAll(file_.get(), line, path_);
  if (ok) return;
  broken_ = true;
  if (on_broken_) on_broken_(Within("--joblog", ok.error()).error());
}

}  // namespace spate::cli
