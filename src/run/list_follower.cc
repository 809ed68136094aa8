#include "run/list_follower.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "plan/placeholder_check.h"

namespace spate::run {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;
constexpr Duration kFollowerLook = Duration::Millis(20);
constexpr Duration kGrowthLook = Duration::Millis(250);
constexpr Duration kUnfinishedRests = Duration::Seconds(1);

}  // namespace

ListFollower::ListFollower(os::RealLoop& loop, std::vector<std::string> files, std::string until,
                           const Needs& defaults, const cli::LoadContext& context, Sink sink)
    : loop_(loop),
      files_(std::move(files)),
      until_(std::move(until)),
      defaults_(defaults),
      context_(context),
      sink_(std::move(sink)) {
  OpenNext();
}

ListFollower::~ListFollower() { Stop(); }

void ListFollower::Stop() {
  if (fd_ >= 0) loop_.Unwatch(fd_);
  fd_ = -1;
  file_.Reset();
  loop_.Cancel(timer_);
}

void ListFollower::OpenNext() {
  Stop();
  if (next_file_ == files_.size()) return sink_.end();
  const std::string& file = files_[next_file_++];
  name_ = file == "-" ? "standard input" : EscapeForScreen(file);
  reader_ = format::JobListReader(until_);
  begins_ = true;
  fd_ = context_.stdin_fd;
  if (file != "-") {
    auto opened = os::OpenRead(file);
    if (!opened) return sink_.wrong(opened.error());
    file_ = std::move(*opened);
    fd_ = file_.get();
  }
  auto info = os::StatFd(fd_, name_);
  grows_ = info && info->kind == os::FileKind::kFile;
  if (grows_) known_ = *info;
  loop_.WatchRead(fd_, [this] { Read(); });
}

std::string ListFollower::WhatHappened() {
  const std::string& file = files_[next_file_ - 1];
  // The name first: what was written before the file was removed is still read.
  auto there = file == "-" ? Result<os::FileInfo>(known_) : os::Stat(file);
  auto now = os::StatFd(fd_, name_);
  if (!now) return "";
  const uint64_t before = std::exchange(known_, *now).size;
  if (now->size != before) return now->size < before ? "truncated" : "";
  if (!there) return there.error().kind == ErrorKind::kNotFound ? "removed" : "";
  const bool same = there->device == now->device && there->inode == now->inode;
  return same ? "" : "replaced";
}

// At the end of a regular file that has not had its last line.
void ListFollower::AwaitGrowth() {
  if (std::string what = WhatHappened(); !what.empty()) {
    Stop();
    return sink_.wrong({ErrorKind::kInvalid,
                        fmt::format("{}: the list was {} while it was followed, so nothing more is "
                                    "read and no more tasks start",
                                    name_, what)});
  }
  if (reader_.may_have_ended() && loop_.Now() - grown_ >= kUnfinishedRests) return OpenNext();
  loop_.Unwatch(fd_);
  timer_ =
      loop_.At(loop_.Now() + kGrowthLook, [this] { loop_.WatchRead(fd_, [this] { Read(); }); });
}

void ListFollower::Read() {
  if (sink_.full()) {
    loop_.Unwatch(fd_);
    timer_ =
        loop_.At(loop_.Now() + kFollowerLook, [this] { loop_.WatchRead(fd_, [this] { Read(); }); });
    return;
  }
  std::string piece(kPieceBytes, '\0');
  auto size = os::ReadSome(fd_, piece.data(), piece.size(), name_);
  if (!size) {
    if (size.error().kind == ErrorKind::kBusy) return;
    Stop();
    return sink_.wrong(size.error());
  }
  if (*size == 0) {
    if (grows_) return AwaitGrowth();
    reader_.Finish();
    return AddRows(/*at_end=*/true);
  }
  grown_ = loop_.Now();
  auto text = std::string_view(piece).substr(0, *size);
  if (std::exchange(begins_, false)) {
    if (auto list = sink_.check(files_[next_file_ - 1], text); !list) {
      Stop();
      return sink_.wrong(list.error());
    }
  }
  reader_.Feed(text);
  AddRows(/*at_end=*/false);
}

std::string ListFollower::WhyWrong(const format::ListLine& line) const {
  if (!line.after.empty()) {
    return "{after} in a list that is followed: leave out --follow, so that it is read whole "
           "before "
           "anything starts";
  }
  std::string why = sink_.why_script(files_[next_file_ - 1], line.command);
  if (why.empty()) why = cli::WhyMistypedIn(line, context_.literal_braces);
  if (why.empty()) why = sink_.why_never(cli::NeedsOf(line, defaults_));
  return why.empty() ? cli::WhyInputFails(line, context_) : why;
}

void ListFollower::AddRows(bool at_end) {
  std::vector<std::string> rows;
  std::vector<Needs> needs;
  std::string wrong;
  while (auto entry = reader_.Next()) {
    if (!wrong.empty()) continue;  // the reader wants to be emptied
    wrong = entry->parsed ? WhyWrong(*entry->parsed) : entry->parsed.error().message;
    if (!wrong.empty()) {
      wrong = fmt::format("{}:{}: {}", name_, entry->line, wrong);
      continue;
    }
    rows.emplace_back(entry->row);
    needs.push_back(cli::NeedsOf(*entry->parsed, defaults_));
  }
  if (!rows.empty()) sink_.add(std::move(rows), std::move(needs));
  if (!wrong.empty()) {
    Stop();
    sink_.wrong({ErrorKind::kInvalid, std::move(wrong)});
  } else if (at_end || reader_.ended()) {
    OpenNext();
  }
}

}  // namespace spate::run
