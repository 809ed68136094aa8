// EndLeftovers: what a run and its shepherds, killed together, left running (shepherd/launch.h says
// how exact this is). A shepherd is known by pid and start time, a task's process by a variable in
// its environment.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/units.h"
#include "os/account.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "shepherd/launch.h"
#include "shepherd/process_tree.h"

namespace spate::shepherd {
namespace {

constexpr size_t kMostNotes = 10;

std::string BootId() {
  std::string id = os::BootId();
  return id.empty() ? "unknown" : id;
}

std::string RecordPath(const std::string& job_folder) {
  return os::JoinPath(job_folder, "shepherds");
}

struct Recorded {
  pid_t pid = 0;
  uint64_t start_ticks = 0;
};

// The shepherds of this boot. Lines that cannot be read are skipped, and so is the file if it is
// another user's.
std::vector<Recorded> ReadRecorded(const std::string& job_folder) {
  std::vector<Recorded> recorded;
  auto text = os::ReadFileOf(os::EffectiveUser(), RecordPath(job_folder), 16 << 20);
  if (!text) return recorded;
  std::string boot = BootId() + " ";
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with(boot)) continue;
    line.remove_prefix(boot.size());
    Recorded one;
    auto [after, bad] = std::from_chars(line.data(), line.data() + line.size(), one.pid);
    if (bad != std::errc() || after == line.data() + line.size()) continue;
    std::from_chars(after + 1, line.data() + line.size(), one.start_ticks);
    if (one.pid > 1) recorded.push_back(one);
  }
  return recorded;
}

void Rest() { poll(nullptr, 0, 2); }

class Sweep {
 public:
  // Sweeps processes with this variable (NAME=value), but for those below one of `keep`.
  Sweep(std::string variable, std::string cgroup, const std::vector<pid_t>& keep)
      : variable_(std::move(variable)),
        cgroup_(std::move(cgroup)),
        keep_(keep.begin(), keep.end()) {}

  // Kills what it finds; returns how many there were.
  int Round(Leftovers& leftovers) {
    std::vector<os::ProcessInfo> found = Find();
    os::Cgroup cgroup(cgroup_);
    cgroup.Enter();
    (void)cgroup.KillAll({});
    for (const os::ProcessInfo& one : found) kill(one.pid, SIGSTOP);
    for (const os::ProcessInfo& one : found) {
      ProcessTree(one.pid).SignalAll(SIGKILL);
      kill(one.pid, SIGKILL);
      if (!seen_.insert(one.pid).second) continue;
      ++leftovers.ended;
      if (leftovers.notes.size() < kMostNotes) {
        leftovers.notes.push_back(
            fmt::format("{} (pid {})", EscapeForScreen(one.command), one.pid));
      }
    }
    return static_cast<int>(found.size());
  }

 private:
  std::vector<os::ProcessInfo> Find() {
    std::vector<os::ProcessInfo> found;
    std::set<pid_t> ours = Lineage();
    for (pid_t pid : AllProcesses()) {
      if (ours.contains(pid) || !HasVariable(pid, variable_)) continue;
      auto info = os::InfoOf(pid);
      if (!info || info->state == 'Z' || (!keep_.empty() && IsKept(*info))) continue;
      found.push_back(std::move(*info));
    }
    return found;
  }

  // When one above it vanishes meanwhile, the next round knows.
  bool IsKept(os::ProcessInfo info) const {
    while (info.pid > 1) {
      if (keep_.contains(info.pid)) return true;
      if (info.parent <= 1) return false;
      auto above = os::InfoOf(info.parent);
      if (!above) return true;
      info = std::move(*above);
    }
    return false;
  }

  // This process and those above it are never leftovers: a task may itself resume a run.
  static std::set<pid_t> Lineage() {
    std::set<pid_t> pids;
    for (pid_t pid = getpid(); pid > 0 && pids.insert(pid).second;) {
      auto info = os::InfoOf(pid);
      if (!info) break;
      pid = info->parent;
    }
    return pids;
  }

  std::string variable_;
  std::string cgroup_;
  std::set<pid_t> keep_;
  std::set<pid_t> seen_;
};

}  // namespace

Status RecordShepherd(const std::string& job_folder, pid_t pid) {
  uint64_t start = os::StartTimeOf(pid);
  if (start == 0) return {};  // no /proc: nobody could use the line
  std::string path = RecordPath(job_folder);
  auto file = TRY(os::OpenWrite(path, os::OpenHow::kAppend, 0600));
  return os::WriteAll(file.get(), fmt::format("{} {} {}\n", BootId(), pid, start), path);
}

Leftovers EndLeftovers(const std::string& job_folder, const std::string& cgroup, int64_t patience) {
  Leftovers leftovers;
  std::vector<Recorded> recorded = ReadRecorded(job_folder);
  auto alive = [](const Recorded& one) { return os::IsAlive(one.pid, one.start_ticks); };
  int64_t begin = os::MonotonicNanos();
  while (std::any_of(recorded.begin(), recorded.end(), alive) &&
         os::MonotonicNanos() < begin + patience / 2) {
    Rest();
  }
  for (const Recorded& one : recorded) EndShepherd(one.pid, one.start_ticks);
  Sweep sweep("SPATE_JOB_DIR=" + job_folder, cgroup, {});
  while (sweep.Round(leftovers) > 0 && os::MonotonicNanos() < begin + patience) Rest();
  return leftovers;
}

void EndShepherd(pid_t pid, uint64_t start) {
  if (!os::IsAlive(pid, start)) return;
  ProcessTree(pid).SignalAll(SIGKILL);
  kill(pid, SIGKILL);
}

Leftovers EndStrays(const std::string& node_id, const std::vector<pid_t>& keep, int64_t patience) {
  Leftovers leftovers;
  Sweep sweep("SPATE_NODE_ID=" + node_id, "", keep);
  int64_t until = os::MonotonicNanos() + patience;
  while (sweep.Round(leftovers) > 0 && os::MonotonicNanos() < until) Rest();
  return leftovers;
}

}  // namespace spate::shepherd
