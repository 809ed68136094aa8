// Reads a task's pipe into memory, then into a spool file.
//
// A task may change the flags of the pipe that it shares with us and with the tasks after it
// (O_NONBLOCK is the usual one, and would make a later task lose output): they are put back after
// every attempt. When the spool file cannot be written the output is still read, so that the task
// goes on, and `trouble` says what is missing.
#include "shepherd/output_collector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "os/error.h"

namespace spate::shepherd {
namespace {

constexpr size_t kOutputRead = 64 * 1024;  // as much as a pipe holds

}  // namespace

StreamSoFar ReadPiece(int fd, uint64_t total, uint64_t from, uint32_t most) {
  StreamSoFar piece{.from = std::min(from, total), .total = total};
  piece.bytes.resize(std::min<uint64_t>(most, total - piece.from));
  size_t have = 0;
  while (have < piece.bytes.size()) {
    ssize_t got = pread(fd, piece.bytes.data() + have, piece.bytes.size() - have,
                        static_cast<off_t>(piece.from + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  piece.bytes.resize(have);
  return piece;
}

Result<OutputCollector> OutputCollector::Create(int target, const std::string& spool_folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os::FailErrno("make a pipe for the output of tasks");
  os::Fd read_end(ends[0]);
  os::Fd write_end(ends[1]);
  if (fcntl(read_end.get(), F_SETFL, O_NONBLOCK) != 0 || dup2(write_end.get(), target) < 0) {
    return os::FailErrno("set up a pipe for the output of tasks");
  }
  int flags = fcntl(target, F_GETFL);
  return OutputCollector(target, spool_folder, std::move(read_end), flags);
}

OutputCollector::OutputCollector(int target, const std::string& spool_folder, os::Fd read_end,
                                 int flags)
    : target_(target), spool_folder_(spool_folder), read_(std::move(read_end)), flags_(flags) {}

void OutputCollector::GiveTo(uint32_t user) {
  // If the change is refused only the names do not work.
  (void)!fchown(read_.get(), user, static_cast<gid_t>(-1));
}

void OutputCollector::Begin(const AttemptRef& ref) {
  inline_.clear();
  ref_ = ref;
  spool_.Reset();
  spooled_ = full_ = false;
  total_ = 0;
  stored_ = 0;
  trouble_.clear();
}

OutputCollector::Taken OutputCollector::Read(std::string_view& fresh) {
  // Read straight behind what is there; most tasks write little or nothing.
  size_t before = spooled_ ? 0 : inline_.size();
  ssize_t got = 0;
  inline_.resize_and_overwrite(before + kOutputRead, [&](char* data, size_t) {
    do {
      got = read(read_.get(), data + before, kOutputRead);
    } while (got < 0 && errno == EINTR);
    return before + static_cast<size_t>(got > 0 ? got : 0);
  });
  if (got <= 0) return {};
  fresh = std::string_view(inline_).substr(before);
  Taken taken{fresh.size(), fresh.size() >= kOutputRead / 2};
  if (sink_) {
    sink_(fresh);
    fresh = {};
    inline_.clear();
    return taken;
  }
  total_ += fresh.size();
  Store(fresh);
  return taken;
}

size_t OutputCollector::waiting() const {
  int count = 0;
  return ioctl(read_.get(), FIONREAD, &count) == 0 ? static_cast<size_t>(count) : 0;
}

uint64_t OutputCollector::DropWaiting() {
  uint64_t dropped = 0;
  char buffer[4096];
  for (size_t left = waiting(); left > 0;) {
    ssize_t got = read(read_.get(), buffer, std::min(left, sizeof buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    dropped += static_cast<uint64_t>(got);
    left -= static_cast<size_t>(got);
  }
  return dropped;
}

uint64_t OutputCollector::DropAll() {
  uint64_t dropped = total_;
  Discard();
  Begin(ref_);
  return dropped + DropWaiting();
}

void OutputCollector::Add(std::string_view bytes) {
  if (sink_) return sink_(bytes);
  total_ += bytes.size();
  if (!spooled_) inline_ += bytes;
  Store(bytes);
}

void OutputCollector::Store(std::string_view bytes) {
  if (!spooled_ && inline_.size() <= kInlineOutput) {
    stored_ = inline_.size();
    return;
  }
  if (!spooled_) {
    spooled_ = true;
    stored_ = 0;
    spool_path_ = fmt::format("{}/{}-{}-{}.{}", spool_folder_, ref_.job.value, ref_.index,
                              ref_.attempt.value, target_ == 1 ? "out" : "err");
    spool_.Reset(open(spool_path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!spool_) {
      Lose("output beyond the first 64 KB");
      head_.assign(inline_, 0, kInlineOutput);
      stored_ = head_.size();
    }
    Spool(inline_);
    return;
  }
  Spool(bytes);
}

void OutputCollector::Spool(std::string_view bytes) {
  while (!bytes.empty() && trouble_.empty()) {
    ssize_t put = write(spool_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Lose("a part of the output");
    stored_ += static_cast<uint64_t>(put);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

// errno says why.
void OutputCollector::Lose(std::string_view what) {
  full_ = errno == ENOSPC || errno == EDQUOT;
  trouble_ =
      fmt::format("{} is lost: cannot write {}: {}", what, spool_path_, os::TextOfErrno(errno));
}

StreamView OutputCollector::view() const {
  if (spooled_ && !spool_) return {head_, {}, stored_};
  if (spooled_) return {{}, spool_path_, stored_};
  return {inline_, {}, stored_};
}

StreamSoFar OutputCollector::SoFar(uint64_t from, uint32_t most) const {
  if (spooled_ && spool_) {
    StreamSoFar piece = ReadPiece(spool_.get(), stored_, from, most);
    piece.trouble = trouble_;
    return piece;
  }
  std::string_view bytes = view().bytes.substr(0, stored_);
  StreamSoFar piece{.from = std::min<uint64_t>(from, bytes.size()), .total = bytes.size()};
  piece.bytes = bytes.substr(piece.from, most);
  piece.trouble = trouble_;
  return piece;
}

void OutputCollector::ResetFlags() {
  if (fcntl(target_, F_GETFL) != flags_) fcntl(target_, F_SETFL, flags_);
}

void OutputCollector::Discard() {
  if (spool_) unlink(spool_path_.c_str());
}

}  // namespace spate::shepherd
