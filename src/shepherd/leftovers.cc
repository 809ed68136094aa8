// EndLeftovers: what a run and its shepherds, killed together, left running (shepherd/launch.h
// says how exact this is).
//
// Why a session can be trusted: its number is the pid of the shepherd that made it, and the kernel
// gives that pid to nobody while a process is in the session. So if a process with that pid exists
// and is not our shepherd (another start time), nothing of ours is in the session. If none exists,
// the members are ours, unless the pid was used again by a session leader that has ended too: such
// members were all started after the file was written last and by somebody else, which the
// variables in their environment tell, where it can be read.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"
#include "shepherd/launch.h"
#include "shepherd/process_tree.h"
#include "shepherd/slot_cgroup.h"

namespace spate::shepherd {
namespace {

constexpr size_t kMostNotes = 10;
constexpr size_t kMostEnvironment = 4 << 20;

std::string BootId() {
  auto text = os::ReadFile("/proc/sys/kernel/random/boot_id", 256);
  if (!text) return "unknown";
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

std::string RecordPath(const std::string& job_folder) {
  return os::JoinPath(job_folder, "shepherds");
}

struct Recorded {
  pid_t pid = 0;
  uint64_t start_ticks = 0;
};

// The shepherds of this boot; lines that make no sense are passed over.
std::vector<Recorded> ReadRecorded(const std::string& job_folder) {
  std::vector<Recorded> recorded;
  auto text = os::ReadFile(RecordPath(job_folder), 16 << 20);
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

// What the environment of a process says about a job's folder.
enum class Belongs { kYes, kNo, kUnknown };

Belongs EnvironmentSays(pid_t pid, const std::string& variable) {
  auto text = os::ReadFile(fmt::format("/proc/{}/environ", pid), kMostEnvironment);
  if (!text || text->empty()) return Belongs::kUnknown;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find('\0'));
    if (one == variable) return Belongs::kYes;
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return text->find("SPATE_JOB_DIR=") != text->npos ? Belongs::kNo : Belongs::kUnknown;
}

class Sweep {
 public:
  Sweep(const std::string& job_folder, const std::string& cgroup)
      : variable_("SPATE_JOB_DIR=" + job_folder), cgroup_(cgroup) {
    for (const Recorded& one : ReadRecorded(job_folder)) {
      ProcessFacts facts;
      bool exists = ReadFacts(one.pid, facts);
      if (exists && facts.start_ticks != one.start_ticks) continue;  // somebody else's pid now
      sessions_.insert(one.pid);
    }
  }

  // Kills what it finds; returns how many there were.
  int Round(Leftovers& leftovers) {
    std::vector<ProcessFacts> found = Find();
    if (!cgroup_.empty()) SlotCgroup(cgroup_).KillAll();
    for (const ProcessFacts& one : found) kill(one.pid, SIGSTOP);
    for (const ProcessFacts& one : found) {
      ProcessTree(one.pid).SignalAll(SIGKILL);
      kill(one.pid, SIGKILL);
      if (!seen_.insert(one.pid).second) continue;
      ++leftovers.ended;
      if (leftovers.notes.size() < kMostNotes) {
        leftovers.notes.push_back(fmt::format("{} (pid {})", EscapeForScreen(one.name), one.pid));
      }
    }
    return static_cast<int>(found.size());
  }

 private:
  std::vector<ProcessFacts> Find() {
    std::vector<ProcessFacts> found;
    std::set<pid_t> ours = Lineage();
    for (pid_t pid : AllProcesses()) {
      ProcessFacts facts;
      if (ours.contains(pid) || !ReadFacts(pid, facts) || facts.state == 'Z') continue;
      Belongs says = EnvironmentSays(pid, variable_);
      bool in_session = sessions_.contains(facts.session) && says != Belongs::kNo;
      if (says == Belongs::kYes || in_session) found.push_back(facts);
    }
    return found;
  }

  // This process and those above it are never leftovers: a task may itself resume a run.
  static std::set<pid_t> Lineage() {
    std::set<pid_t> pids;
    ProcessFacts facts;
    for (pid_t pid = getpid(); pid > 0 && pids.insert(pid).second;) {
      if (!ReadFacts(pid, facts)) break;
      pid = facts.parent;
    }
    return pids;
  }

  std::string variable_;
  std::string cgroup_;
  std::set<pid_t> sessions_;
  std::set<pid_t> seen_;
};

}  // namespace

Status RecordShepherd(const std::string& job_folder, pid_t pid) {
  ProcessFacts facts;
  if (!ReadFacts(pid, facts)) return {};  // no /proc: nobody could use the line
  std::string path = RecordPath(job_folder);
  auto file = os::OpenWrite(path, os::OpenHow::kAppend, 0600);
  if (!file) return std::unexpected(file.error());
  return os::WriteAll(file->get(), fmt::format("{} {} {}\n", BootId(), pid, facts.start_ticks),
                      path);
}

Leftovers EndLeftovers(const std::string& job_folder, const std::string& cgroup, int64_t patience) {
  Leftovers leftovers;
  Sweep sweep(job_folder, cgroup);
  int64_t until = os::MonotonicNanos() + patience;
  while (sweep.Round(leftovers) > 0 && os::MonotonicNanos() < until) {
    timespec moment{0, 2'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
  }
  return leftovers;
}

}  // namespace spate::shepherd
