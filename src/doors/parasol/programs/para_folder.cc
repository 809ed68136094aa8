#include "doors/parasol/programs/para_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "doors/parasol/formats/batch.h"
#include "doors/parasol/formats/results.h"
#include "format/lines.h"
#include "os/process.h"
#include "os/regular_file.h"

namespace spate::parasol {
namespace {

constexpr size_t kSmallMost = 64 << 10;
constexpr size_t kFolderPiece = 4 << 20;
constexpr size_t kDamageTold = 10;

// Empty when there is no such file.
Result<std::string> ReadSmall(const std::string& path) {
  auto text = os::ReadFile(path, kSmallMost);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
  return text;
}

// Lines "KEY VALUE"; keys that are not known are for others.
Result<ParaMarks> HubMarksOf(std::string_view text, const std::string& path) {
  ParaMarks marks;
  while (auto line = format::NextLine(&text)) {
    std::string_view key = format::NextWord(&*line);
    if (key != "known" && key != "halts") continue;
    auto number = ReadNumber<uint64_t>(format::NextWord(&*line));
    if (!number) {
      return Fail(ErrorKind::kCorrupt,
                  fmt::format("'{}' contains no number of submissions; remove the file, and para "
                              "requests all of them from the hub",
                              EscapeForScreen(path)));
    }
    (key == "known" ? marks.known : marks.halts) = *number;
    if (key == "halts") marks.halted_by = format::NextWord(&*line);
  }
  return marks;
}

std::string HubMarksText(const ParaMarks& marks) {
  std::string text = fmt::format("known {}\n", marks.known);
  if (marks.halts > 0) text += fmt::format("halts {} {}\n", marks.halts, marks.halted_by);
  return text;
}

Status WriteJobs(const std::string& path, const std::vector<ParasolJob>& jobs) {
  auto file = TRY(os::NewFile::Begin(path));
  std::string text;
  for (const ParasolJob& job : jobs) {
    AppendBatchLine(job, &text);
    if (text.size() < kFolderPiece) continue;
    TRY(file.Write(text));
    text.clear();
  }
  Status written = file.Write(text);
  return written ? file.Commit() : written;
}

// Calls `take` with whole lines from the byte `from` on, some millions of bytes at a time; what is
// left at the end has no newline. Where that begins.
Result<uint64_t> ReadPieces(const os::Fd& file, const std::string& path, uint64_t from,
                            const std::function<void(std::string_view, uint64_t)>& take) {
  for (size_t piece = kFolderPiece;;) {
    auto text = TRY(os::ReadAt(file.get(), from, piece, path));
    size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
    if (whole > 0) {
      take(std::string_view(text).substr(0, whole), from);
      from += whole;
    } else if (text.size() < piece) {
      return from;
    } else {
      piece *= 2;  // one line is longer
    }
  }
}

std::unexpected<Error> Damaged(const std::vector<std::string>& damage) {
  std::string text;
  for (size_t i = 0; i < std::min(damage.size(), kDamageTold); ++i) text += damage[i] + "\n";
  if (damage.size() > kDamageTold) {
    text += fmt::format("and {} more lines\n", damage.size() - kDamageTold);
  }
  return Fail(ErrorKind::kCorrupt, text + "the batch is unchanged, and nothing was done");
}

}  // namespace

std::string ParaFolder::StderrOf(std::string_view id) const {
  return os::JoinPath(Path("err"), id);
}

Status ParaFolder::Lock(std::string_view command) {
  if (lock_) return {};
  std::string owner = fmt::format("para {} (process {})", command, os::OwnPid());
  TRY(state_.Make());
  auto lock = os::FileLock::TryLock(state_.Lock(), owner);
  if (lock) {
    lock_ = std::move(*lock);
    return {};
  }
  if (lock.error().kind != ErrorKind::kBusy) return std::unexpected(std::move(lock.error()));
  return Within("another para is using this batch", std::move(lock.error()));
}

Status ParaFolder::Find() const {
  if (os::Exists(Batch())) return {};
  return Fail(ErrorKind::kNotFound, fmt::format("there is no batch in '{}'; make one with para "
                                                "create, or name its folder with -batch=DIR",
                                                EscapeForScreen(dir_)));
}

Result<ParaFolder::Stored> ParaFolder::Read() {
  auto marks = TRY(ReadHubMarks());
  auto mark = TRY(ReadSmall(Path("para.bookmark")));
  auto results = TRY(ReadBookmark(mark, Path("para.bookmark")));
  written_ = std::move(marks);
  written_.results = results;

  TRY(Find());
  auto file = TRY(os::OpenRead(Batch()));
  auto info = TRY(os::StatFd(file.get(), Batch()));
  read_ = info;
  BatchReader reader(Batch(), info.size);
  auto end =
      ReadPieces(file, Batch(), 0, [&](std::string_view lines, uint64_t) { reader.Add(lines); });
  if (!end) return std::unexpected(std::move(end.error()));
  auto last = TRY(os::ReadAt(file.get(), *end, info.size - std::min(*end, info.size), Batch()));
  reader.Add(last);
  ReadBatchResult read = reader.Take();
  if (!read.damage.empty()) return Damaged(read.damage);
  return Stored{.jobs = std::move(read.jobs), .marks = written_};
}

bool ParaFolder::IsAsRead() const {
  auto now = os::Stat(Batch());
  return now && now->device == read_.device && now->inode == read_.inode &&
         now->size == read_.size && now->modified == read_.modified;
}

Status ParaFolder::WriteMarks(ParaMarks marks) {
  if (marks.results != written_.results) {
    auto text = WriteBookmark(marks.results);
    // Without results there is no mark, as long as none were read.
    auto written = marks.results == 0 ? os::RemoveFile(Path("para.bookmark"))
                                      : os::WriteFileAtomically(Path("para.bookmark"), text);
    if (!written) return written;
    written_.results = marks.results;
  }
  // Halts are counted by Halt alone.
  bool same = marks.known == written_.known;
  marks.halts = written_.halts;
  marks.halted_by = written_.halted_by;
  return same ? Status() : WriteHubMarks(marks);
}

Status ParaFolder::WriteHubMarks(const ParaMarks& marks) {
  auto written = os::WriteFileAtomically(state_.Marks(), HubMarksText(marks));
  if (!written) return written;
  written_.known = marks.known;
  written_.halts = marks.halts;
  written_.halted_by = marks.halted_by;
  return {};
}

Result<ParaMarks> ParaFolder::ReadHubMarks() const {
  auto text = TRY(ReadSmall(state_.Marks()));
  return HubMarksOf(text, state_.Marks());
}

Status ParaFolder::Halt(std::string_view command) {
  auto marks = ReadHubMarks();
  if (!marks && marks.error().kind == ErrorKind::kCorrupt) marks = ParaMarks();
  if (!marks) return std::unexpected(std::move(marks.error()));
  ++marks->halts;
  marks->halted_by = command;
  return WriteHubMarks(*marks);
}

Status ParaFolder::Write(const std::vector<ParasolJob>& jobs, ParaMarks marks) {
  auto written = WriteBatch(jobs);
  return written ? WriteMarks(marks) : written;
}

Status ParaFolder::WriteBatch(const std::vector<ParasolJob>& jobs) {
  TRY(WriteJobs(Batch(), jobs));
  auto now = TRY(os::Stat(Batch()));
  read_ = now;
  return state_.Remember(now);
}

// The marks first: what the hub had of an earlier batch must not be taken for that of the new one.
Status ParaFolder::Start(const std::vector<ParasolJob>& jobs, ParaMarks marks) {
  auto err = os::MakeDirs(Path("err"));
  if (!err) return err;
  TRY(state_.Claim());
  TRY(Halt("create"));
  written_.results = ~marks.results;
  TRY(WriteMarks(marks));
  auto written = WriteJobs(Path("batch.bak"), jobs);
  return written ? WriteBatch(jobs) : written;
}

Status ParaFolder::ForgetHub() {
  auto marks = TRY(ReadHubMarks());
  if (marks.known == 0) return {};
  marks.known = 0;
  return WriteHubMarks(marks);
}

Result<uint64_t> ParaFolder::ReadResults(
    uint64_t from, const std::function<void(std::string_view, uint64_t)>& take) const {
  auto file = os::OpenRegularFile(Results(), os::RegularFor::kReading);
  if (!file && file.error().kind == ErrorKind::kNotFound) return 0;
  if (!file) return std::unexpected(std::move(file.error()));
  auto info = TRY(os::StatFd(file->get(), Results()));
  if (from > info.size) from = 0;
  return ReadPieces(*file, Results(), from, take);
}

}  // namespace spate::parasol
