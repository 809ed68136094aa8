#include "doors/pmc/run/live_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "os/file.h"

namespace spate::pmc {
namespace {

// The most output of a task that waits for the files: the rest is left out until its end.
constexpr size_t kMostWaiting = 1u << 20;
// Copied from a spool file at once, so that the loop does not stand still. A task that writes
// faster is shown later.
constexpr size_t kMostCopied = 8u << 20;

}  // namespace

std::string LiveOutput::PathOf(TaskIndex task, int rank, int stream) const {
  if (parts_.own_file) return parts_.own_file(task, stream);
  return fmt::format("{}.{}.{}", parts_.dag, stream == 1 ? "out" : "err", rank);
}

bool LiveOutput::Owns(TaskIndex task, int rank) {
  return parts_.own_file || owners_.try_emplace(rank, task).first->second == task;
}

void LiveOutput::Add(TaskIndex task, int rank, int stream, std::string_view bytes,
                     const std::string& spool) {
  Live& live = tasks_[task];
  if (live.frozen) return;
  live.rank = rank;
  Stream& at = live.streams[stream - 1];
  at.spool = spool;
  at.waiting += bytes;
  if (at.waiting.size() >= kMostWaiting) {
    if (Owns(task, rank)) Write(task, live, stream);
    // Files that another task has, or a disk that is full.
    if (at.waiting.size() >= kMostWaiting) at.waiting.resize(kMostWaiting);
  }
  if (timer_ == 0) timer_ = loop_.At(loop_.Now() + kEvery, [this] { Flush(); });
}

void LiveOutput::Flush() {
  timer_ = 0;
  bool follows = false;
  for (auto& [task, live] : tasks_) {
    if (live.frozen || !Owns(task, live.rank)) continue;
    for (int stream : {1, 2}) {
      Write(task, live, stream);
      const Stream& at = live.streams[stream - 1];
      follows = follows || (!at.spool.empty() && !at.linked);
    }
  }
  if (follows) timer_ = loop_.At(loop_.Now() + kEvery, [this] { Flush(); });
}

// A failure costs nothing but the look: the whole output comes with the task's end.
void LiveOutput::Write(TaskIndex task, Live& live, int stream) {
  Stream& at = live.streams[stream - 1];
  if (at.linked) return at.waiting.clear();
  if (at.path.empty() && (!at.waiting.empty() || os::Exists(at.spool))) {
    at.path = PathOf(task, live.rank, stream);
  }
  if (at.path.empty()) return;
  if (FollowSpool(at)) return at.waiting.clear();
  if (at.waiting.empty()) return;
  if (auto file = os::OpenWrite(at.path, os::OpenHow::kAppend)) {
    (void)os::WriteAll(file->get(), at.waiting, at.path);
    at.written += at.waiting.size();
  }
  at.waiting.clear();
}

// False: there is no spool file that could be seen.
bool LiveOutput::FollowSpool(Stream& stream) {
  if (stream.spool.empty()) return false;
  auto spool = os::OpenRead(stream.spool);
  if (!spool) return false;
  // Under its own name at once, so that the file is never missing or short.
  const std::string beside = stream.path + ".new";
  stream.linked = os::MakeHardLink(stream.spool, beside) && os::Rename(beside, stream.path);
  if (stream.linked) return true;
  (void)os::RemoveFile(beside);
  auto bytes = os::ReadAt(spool->get(), stream.written, kMostCopied, stream.spool);
  auto file = os::OpenWrite(stream.path, os::OpenHow::kAppend);
  if (!bytes || !file) return true;
  (void)os::WriteAll(file->get(), *bytes, stream.path);
  stream.written += bytes->size();
  return true;
}

void LiveOutput::Freeze(TaskIndex task) {
  auto found = tasks_.find(task);
  if (found != tasks_.end()) found->second.frozen = true;
}

void LiveOutput::Remove(TaskIndex task) {
  auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  const Live& live = found->second;
  for (const Stream& stream : live.streams) {
    if (!parts_.own_file && !stream.path.empty()) (void)os::RemoveFile(stream.path);
  }
  auto owner = owners_.find(live.rank);
  if (owner != owners_.end() && owner->second == task) owners_.erase(owner);
  tasks_.erase(found);
}

}  // namespace spate::pmc
