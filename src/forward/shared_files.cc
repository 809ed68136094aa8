#include "forward/shared_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/model/task_files.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/regular_file.h"

namespace spate::forward {
namespace {

constexpr size_t kReadBytes = 256 * 1024;

// "void TASK": what was appended for it so far has been cut off again.
constexpr std::string_view kVoid = "void ";
constexpr std::string_view kDone = "done ";

struct Entry {
  uint64_t offset = 0, length = 0;
  std::string_view task, path;
};

// Nullopt: torn, or not ours.
std::optional<Entry> EntryOf(std::string_view line) {
  std::string_view words[3];
  for (std::string_view& word : words) {
    size_t end = line.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    word = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  Entry entry{.task = words[2], .path = line};
  for (auto [word, number] : {std::pair{words[0], &entry.offset}, {words[1], &entry.length}}) {
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  }
  return entry.path.empty() ? std::nullopt : std::optional(entry);
}

// Contents of a log; views into its text.
struct LogText {
  std::vector<Entry> entries;
  std::set<std::string_view, std::less<>> done;
};

LogText ParseLog(std::string_view text) {
  LogText log;
  while (!text.empty()) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // torn: nothing was appended for it
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with(kVoid)) {
      std::erase_if(log.entries,
                    [&](const Entry& each) { return each.task == line.substr(kVoid.size()); });
    } else if (line.starts_with(kDone)) {
      log.done.insert(line.substr(kDone.size()));
    } else if (auto entry = EntryOf(line)) {
      log.entries.push_back(*entry);
    }
  }
  return log;
}

struct Target {
  std::optional<uint64_t> cut;  // to this length
  uint64_t end = 0;             // of the last piece
};

Status CutBack(const std::string& path, const Target& target,
               const std::function<void(std::string)>& tell) {
  auto info = os::Stat(path);
  if (!info && info.error().kind == ErrorKind::kNotFound) return {};
  if (!info) return std::unexpected(std::move(info.error()));
  if (info->size == *target.cut) return {};
  if (info->size < *target.cut || info->size > target.end) {
    tell(
        fmt::format("{} was changed since the last run ended: what tasks that did not end have "
                    "forwarded may be in it",
                    EscapeForScreen(path)));
    return {};
  }
  auto file = TRY(os::OpenRegularFile(path, os::RegularFor::kWriting));
  TRY(os::Truncate(file.get(), *target.cut, path));
  return os::Fsync(file.get(), path);
}

Status FeedPack(const OutputStream& pack, PackReader& reader) {
  if (pack.spool.empty()) return reader.Feed(pack.bytes);
  auto file = TRY(os::OpenRead(pack.spool));
  for (uint64_t at = 0; at < pack.total;) {
    auto bytes = TRY(os::ReadAt(file.get(), at, kReadBytes, pack.spool));
    if (bytes.empty()) return Fail(ErrorKind::kCorrupt, pack.spool + " has become shorter");
    at += bytes.size();
    TRY(reader.Feed(bytes));
  }
  return {};
}

}  // namespace

size_t MostOpen() { return MostOpen(256); }

size_t MostOpen(size_t wanted) {
  constexpr uint64_t kOthers = 64;
  const uint64_t limit = os::GetOpenFileLimit().now;
  return limit > kOthers ? std::min<uint64_t>(wanted, limit - kOthers) : 1;
}

Status SharedFiles::Recover(const std::string& log, const IsDone& is_done,
                            const std::function<void(std::string)>& tell, bool keep) {
  if (!os::Exists(log)) return {};
  auto text = TRY(os::ReadFile(log, SIZE_MAX));
  LogText known = ParseLog(text);
  std::map<std::string, Target> targets;
  for (const Entry& entry : known.entries) {
    Target& target = targets[std::string(entry.path)];
    target.end = entry.offset + entry.length;
    bool done = known.done.contains(entry.task) || is_done(entry.task);
    // They end in the order in which they were appended. Where one did not, more would be lost by
    // cutting than is gained.
    if (done && target.cut) {
      tell(fmt::format("{} holds data of a task that did not end, before that of others",
                       EscapeForScreen(entry.path)));
    }
    if (done) {
      target.cut.reset();
    } else if (!target.cut) {
      target.cut = entry.offset;
    }
  }
  for (const auto& [path, target] : targets) {
    if (!target.cut) continue;
    TRY(CutBack(path, target, tell));
  }
  if (!keep) return os::RemoveFile(log);
  std::string rest;
  for (std::string_view task : known.done) rest += fmt::format("{}{}\n", kDone, task);
  return os::WriteFileAtomically(log, rest, 0600);
}

Result<std::set<std::string, std::less<>>> SharedFiles::Done(const std::string& log) {
  std::set<std::string, std::less<>> done;
  if (!os::Exists(log)) return done;
  auto text = TRY(os::ReadFile(log, SIZE_MAX));
  for (std::string_view task : ParseLog(text).done) done.emplace(task);
  return done;
}

SharedFiles::SharedFiles(std::string log, std::string folder, size_t most_open, Where where)
    : log_path_(std::move(log)),
      folder_(std::move(folder)),
      most_open_(std::max<size_t>(most_open, 1)),
      where_(where) {}

std::string SharedFiles::PathOf(std::string_view to) const {
  return folder_.empty() ? std::string(to) : os::JoinPath(folder_, to);
}

struct SharedFiles::Pieces {
  std::list<Piece> files;
  bool any = false;  // for a file or a device
};

Result<SharedFiles::OpenedFile> SharedFiles::FileOf(const std::string& path) {
  if (auto found = by_path_.find(path); found != by_path_.end()) {
    ++hits_;
    open_.splice(open_.begin(), open_, found->second);
    return OpenedFile{open_.front().file.get(), open_.front().is_device};
  }
  ++misses_;
  // Others who may write there must not lead it elsewhere.
  const auto devices = where_ == Where::kAnywhere ? os::Devices::kAllow : os::Devices::kRefuse;
  auto file = TRY(os::OpenRegularFile(path, os::RegularFor::kAppending, devices));
  auto info = TRY(os::StatFd(file.get(), path));
  while (open_.size() >= most_open_) {
    by_path_.erase(open_.back().path);
    open_.pop_back();
  }
  open_.push_front({path, std::move(file), info.kind == os::FileKind::kCharDevice});
  by_path_[path] = open_.begin();
  return OpenedFile{open_.front().file.get(), open_.front().is_device};
}

// Target and beginning of each piece.
Result<SharedFiles::Pieces> SharedFiles::PiecesOf(const OutputStream& pack) {
  Pieces pieces;
  std::map<std::string, uint64_t> lengths;  // with what this task appends
  PackReader reader({.begin = [&](const PackedFile& packed) -> Status {
                       if (!IsForward(packed) || packed.size == 0) return {};
                       const std::string to = packed.name.substr(1);
                       if (where_ == Where::kBelow) {
                         TRY(CheckTaskFileName(to));
                       }
                       Piece piece{.path = PathOf(to), .size = packed.size};
                       auto file = TRY(FileOf(piece.path));
                       pieces.any = true;
                       if (file.is_device) return {};
                       auto known = lengths.find(piece.path);
                       if (known == lengths.end()) {
                         auto info = TRY(os::StatFd(file.fd, piece.path));
                         known = lengths.emplace(piece.path, info.size).first;
                       }
                       piece.offset = known->second;
                       known->second += piece.size;
                       pieces.files.push_back(std::move(piece));
                       return {};
                     },
                     .bytes = [](std::string_view) -> Status { return {}; },
                     .end = []() -> Status { return {}; }});
  TRY(FeedPack(pack, reader));
  if (!reader.whole()) return Fail(ErrorKind::kCorrupt, "forwarded data is not whole");
  return pieces;
}

Status SharedFiles::PutLines(std::string_view lines, bool sync) {
  if (!log_.valid()) {
    auto log = TRY(os::OpenWrite(log_path_, os::OpenHow::kAppend));
    log_ = std::move(log);
  }
  if (auto put = os::WriteAll(log_.get(), lines, log_path_); !put || !sync) return put;
  return os::Fsync(log_.get(), log_path_);
}

Status SharedFiles::Append(const OutputStream& pack) {
  std::string path;  // of the piece that comes; empty: it is none
  OpenedFile file;
  PackReader reader({.begin = [&](const PackedFile& packed) -> Status {
                       path.clear();
                       if (!IsForward(packed) || packed.size == 0) return {};
                       path = PathOf(packed.name.substr(1));
                       auto opened = TRY(FileOf(path));
                       file = opened;
                       return {};
                     },
                     .bytes = [&](std::string_view bytes) -> Status {
                       return path.empty() ? Status() : os::WriteAll(file.fd, bytes, path);
                     },
                     .end = [&]() -> Status {
                       return path.empty() || file.is_device ? Status() : os::Fsync(file.fd, path);
                     }});
  return FeedPack(pack, reader);
}

Status SharedFiles::Deliver(std::string_view task, const OutputStream& pack) {
  auto pieces = TRY(PiecesOf(pack));
  if (!pieces.any) return {};
  std::string lines;
  for (const Piece& piece : pieces.files) {
    lines += fmt::format("{} {} {} {}\n", piece.offset, piece.size, task, piece.path);
  }
  if (!lines.empty()) {
    TRY(PutLines(lines, true));
  }
  Status done = Append(pack);
  if (done) return done;
  // Nothing of a task that failed stays.
  Undo(pieces.files);
  (void)PutLines(fmt::format("{}{}\n", kVoid, task), false);
  return done;
}

void SharedFiles::Undo(const std::list<Piece>& pieces) {
  for (auto at = pieces.rbegin(); at != pieces.rend(); ++at) {
    auto file = FileOf(at->path);
    if (!file) continue;
    auto info = os::StatFd(file->fd, at->path);
    if (info && info->size > at->offset) (void)os::Truncate(file->fd, at->offset, at->path);
  }
}

Status SharedFiles::MarkDone(std::string_view task) {
  return PutLines(fmt::format("{}{}\n", kDone, task), false);
}

void SharedFiles::Finish() const {
  if (log_.valid()) (void)os::RemoveFile(log_path_);
}

}  // namespace spate::forward
