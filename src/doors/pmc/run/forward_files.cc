#include "doors/pmc/run/forward_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/units.h"
#include "os/file.h"

namespace spate::pmc {
namespace {

// "void TASK": what was appended for it so far has been cut off again.
constexpr std::string_view kVoid = "void ";

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
  auto file = os::OpenWrite(path, os::OpenHow::kReadWrite);
  if (!file) return std::unexpected(std::move(file.error()));
  if (auto cut = os::Truncate(file->get(), *target.cut, path); !cut) return cut;
  return os::Fsync(file->get(), path);
}

}  // namespace

std::string ForwardFiles::LogOf(const std::string& rescue) { return rescue + ".forwards"; }

Status ForwardFiles::Recover(const std::string& rescue,
                             const std::function<bool(std::string_view)>& is_done,
                             const std::function<void(std::string)>& tell) {
  const std::string log = LogOf(rescue);
  if (!os::Exists(log)) return {};
  auto text = os::ReadFile(log, SIZE_MAX);
  if (!text) return std::unexpected(std::move(text.error()));
  std::vector<Entry> entries;
  for (std::string_view left = *text; !left.empty();) {
    size_t end = left.find('\n');
    if (end == std::string_view::npos) break;  // torn: nothing was appended for it
    std::string_view line = left.substr(0, end);
    left.remove_prefix(end + 1);
    if (line.starts_with(kVoid)) {
      std::erase_if(entries,
                    [&](const Entry& each) { return each.task == line.substr(kVoid.size()); });
    } else if (auto entry = EntryOf(line)) {
      entries.push_back(*entry);
    }
  }
  std::map<std::string, Target> targets;
  for (const Entry& entry : entries) {
    Target& target = targets[std::string(entry.path)];
    target.end = entry.offset + entry.length;
    // What comes behind the first that is not done is not done either: they are recorded in this
    // order.
    if (!target.cut && !is_done(entry.task)) target.cut = entry.offset;
  }
  for (const auto& [path, target] : targets) {
    if (!target.cut) continue;
    if (auto cut = CutBack(path, target, tell); !cut) return cut;
  }
  return os::RemoveFile(log);
}

ForwardFiles::ForwardFiles(std::string rescue, size_t most_open)
    : rescue_(std::move(rescue)), most_open_(std::max<size_t>(most_open, 1)) {}

Result<int> ForwardFiles::FileOf(const std::string& path) {
  if (auto found = by_path_.find(path); found != by_path_.end()) {
    ++hits_;
    open_.splice(open_.begin(), open_, found->second);
    return open_.front().file.get();
  }
  ++misses_;
  if (size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
    if (auto made = os::MakeDirs(path.substr(0, slash)); !made) {
      return std::unexpected(std::move(made.error()));
    }
  }
  auto file = os::OpenWrite(path, os::OpenHow::kAppend);
  if (!file) return std::unexpected(std::move(file.error()));
  while (open_.size() >= most_open_) {
    by_path_.erase(open_.back().path);
    open_.pop_back();
  }
  open_.push_front({path, std::move(*file)});
  by_path_[path] = open_.begin();
  return open_.front().file.get();
}

Status ForwardFiles::Deliver(std::string_view task, const std::vector<Piece>& pieces) {
  struct Begun {
    const Piece& piece;
    uint64_t offset = 0;
  };
  std::vector<Begun> all;
  std::map<std::string, uint64_t> lengths;  // with what this task appends
  std::string lines;
  for (const Piece& piece : pieces) {
    if (piece.bytes.empty()) continue;
    auto file = FileOf(piece.path);
    if (!file) return std::unexpected(std::move(file.error()));
    auto known = lengths.find(piece.path);
    if (known == lengths.end()) {
      auto info = os::StatFd(*file, piece.path);
      if (!info) return std::unexpected(std::move(info.error()));
      known = lengths.emplace(piece.path, info->size).first;
    }
    lines += fmt::format("{} {} {} {}\n", known->second, piece.bytes.size(), task, piece.path);
    all.push_back({piece, known->second});
    known->second += piece.bytes.size();
  }
  if (all.empty()) return {};
  if (!log_.valid()) {
    auto log = os::OpenWrite(LogOf(rescue_), os::OpenHow::kAppend);
    if (!log) return std::unexpected(std::move(log.error()));
    log_ = std::move(*log);
  }
  if (auto put = os::WriteAll(log_.get(), lines, LogOf(rescue_)); !put) return put;
  if (auto synced = os::Fsync(log_.get(), LogOf(rescue_)); !synced) return synced;
  Status done;
  for (size_t i = 0; i < all.size() && done; ++i) {
    auto file = FileOf(all[i].piece.path);
    if (!file) return std::unexpected(std::move(file.error()));
    done = os::WriteAll(*file, all[i].piece.bytes, all[i].piece.path);
    if (done) done = os::Fsync(*file, all[i].piece.path);
  }
  if (done) return done;
  // Nothing of a task that failed stays.
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    auto file = FileOf(at->piece.path);
    if (!file) continue;
    auto info = os::StatFd(*file, at->piece.path);
    if (info && info->size > at->offset) (void)os::Truncate(*file, at->offset, at->piece.path);
  }
  (void)os::WriteAll(log_.get(), fmt::format("{}{}\n", kVoid, task), LogOf(rescue_));
  return done;
}

void ForwardFiles::Finish() const {
  if (log_.valid()) (void)os::RemoveFile(LogOf(rescue_));
}

}  // namespace spate::pmc
