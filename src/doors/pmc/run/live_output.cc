#include "doors/pmc/run/live_output.h"

#include <fmt/format.h>

#include "os/file.h"

namespace spate::pmc {
namespace {

// Of a task that waits for the files: more of it is left out until its end.
constexpr size_t kMostWaiting = 1u << 20;

}  // namespace

std::string LiveOutput::PathOf(int rank, int stream) const {
  return fmt::format("{}.{}.{}", dag_, stream == 1 ? "out" : "err", rank);
}

void LiveOutput::Add(TaskIndex task, int rank, int stream, std::string_view bytes) {
  Live& live = tasks_[task];
  live.rank = rank;
  std::string& waiting = live.waiting[stream - 1];
  waiting += bytes;
  if (waiting.size() >= kMostWaiting) {
    owners_.try_emplace(rank, task);
    Write(live, stream);
    // Files that another task has, or a disk that is full.
    if (waiting.size() >= kMostWaiting) waiting.resize(kMostWaiting);
  }
  if (timer_ == 0) timer_ = loop_.At(loop_.Now() + kEvery, [this] { Flush(); });
}

void LiveOutput::Flush() {
  timer_ = 0;
  for (auto& [task, live] : tasks_) {
    if (owners_.try_emplace(live.rank, task).first->second != task) continue;
    for (int stream : {1, 2}) Write(live, stream);
  }
}

void LiveOutput::Write(Live& live, int stream) {
  std::string& waiting = live.waiting[stream - 1];
  auto owner = owners_.find(live.rank);
  if (waiting.empty() || owner == owners_.end() || &tasks_.at(owner->second) != &live) return;
  // A failure costs nothing but the look: the whole output comes with the task's end.
  const std::string path = PathOf(live.rank, stream);
  auto file = os::OpenWrite(path, os::OpenHow::kAppend);
  if (file) {
    live.has_file[stream - 1] = true;
    (void)os::WriteAll(file->get(), waiting, path);
  }
  waiting.clear();
}

void LiveOutput::Remove(TaskIndex task) {
  auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  const Live& live = found->second;
  for (int stream : {1, 2}) {
    if (live.has_file[stream - 1]) (void)os::RemoveFile(PathOf(live.rank, stream));
  }
  auto owner = owners_.find(live.rank);
  if (owner != owners_.end() && owner->second == task) owners_.erase(owner);
  tasks_.erase(found);
}

}  // namespace spate::pmc
