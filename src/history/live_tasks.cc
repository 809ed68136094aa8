// A pass over /proc: parents and start times of all processes, then the environments of those that
// descend from the owner. Shepherds have the owner's own environment, in which a spate within a
// task of another spate finds that task: what says the same as the owner is no task of it.
#include "history/live_tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/number.h"
#include "os/file.h"

namespace spate::history {
namespace {

constexpr size_t kLargestFile = 4 << 20;
constexpr int64_t kTicksPerSecond = 100;  // USER_HZ of every Linux on x86-64

struct Process {
  int64_t parent = 0;
  int64_t start_ticks = 0;  // since the machine started
};

// "PID (NAME) STATE PARENT ..." with the start in field 22; NAME may hold anything.
std::optional<Process> ParseStat(std::string_view stat) {
  size_t at = stat.rfind(')');
  if (at == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(at + 1);
  Process process;
  for (int field = 2; field <= 22; ++field) {
    size_t blank = std::min(stat.find(' '), stat.size());
    std::string_view word = stat.substr(0, blank);
    stat.remove_prefix(std::min(blank + 1, stat.size()));
    if (field == 4) process.parent = ReadNumber<int64_t>(word).value_or(0);
    if (field == 22) process.start_ticks = ReadNumber<int64_t>(word).value_or(0);
  }
  return process;
}

std::map<int64_t, Process> AllProcesses(const std::string& proc) {
  std::map<int64_t, Process> all;
  auto entries = os::ListDir(proc);
  if (!entries) return all;
  for (const os::DirEntry& entry : *entries) {
    auto pid = ReadNumber<int64_t>(entry.name);
    if (!pid) continue;
    auto stat = os::ReadFile(proc + '/' + entry.name + "/stat", kLargestFile);
    auto process = stat ? ParseStat(*stat) : std::nullopt;
    if (process) all[*pid] = *process;
  }
  return all;
}

bool Descends(const std::map<int64_t, Process>& all, int64_t pid, int64_t owner) {
  // Bounded: processes that end meanwhile may leave anything behind.
  for (int steps = 0; steps < 1000; ++steps) {
    auto at = all.find(pid);
    if (at == all.end()) return false;
    if (at->second.parent == owner) return true;
    pid = at->second.parent;
  }
  return false;
}

struct Mark {
  std::string job, task, attempt, slot;
  friend bool operator==(const Mark&, const Mark&) = default;
};

Mark MarkOf(const std::string& proc, int64_t pid) {
  Mark mark;
  auto environment = os::ReadFile(proc + '/' + std::to_string(pid) + "/environ", kLargestFile);
  if (!environment) return mark;
  std::string_view rest = *environment;
  while (!rest.empty()) {
    std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    for (auto [name, value] : {std::pair{"SPATE_JOB_ID=", &mark.job},
                               {"SPATE_TASK_INDEX=", &mark.task},
                               {"SPATE_ATTEMPT=", &mark.attempt},
                               {"SPATE_SLOT=", &mark.slot}}) {
      if (entry.starts_with(name)) *value = entry.substr(std::string_view(name).size());
    }
  }
  return mark;
}

int64_t UptimeNanos(const std::string& proc) {
  auto text = os::ReadFile(proc + "/uptime", 4096);
  if (!text) return 0;
  auto seconds = ReadNumber<double>(std::string_view(*text).substr(0, text->find(' ')));
  return static_cast<int64_t>(seconds.value_or(0) * 1e9);
}

}  // namespace

std::vector<LiveTask> FindLiveTasks(const std::string& proc, int64_t owner, JobId job,
                                    Instant now) {
  std::map<int64_t, Process> all = AllProcesses(proc);
  Mark own = MarkOf(proc, owner);
  Instant boot = now - Duration{UptimeNanos(proc)};
  std::map<TaskIndex, LiveTask> tasks;
  for (const auto& [pid, process] : all) {
    if (!Descends(all, pid, owner)) continue;
    Mark mark = MarkOf(proc, pid);
    auto index = ReadNumber<TaskIndex>(mark.task);
    if (mark == own || mark.job != std::to_string(job.value) || !index || *index == 0) continue;
    constexpr int64_t kTick = 1'000'000'000 / kTicksPerSecond;
    Instant since = std::min(now, boot + Duration{process.start_ticks * kTick});
    LiveTask& task = tasks[*index - 1];
    if (task.pid != 0 && task.since <= since) continue;
    task = {*index - 1, ReadNumber<uint16_t>(mark.attempt).value_or(0),
            ReadNumber<uint16_t>(mark.slot).value_or(0), pid, since};
  }
  std::vector<LiveTask> found;
  for (auto& [index, task] : tasks) found.push_back(task);
  return found;
}

}  // namespace spate::history
