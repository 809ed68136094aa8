// Reads /proc: PID/stat for facts, PID/task/TID/children for the tree (one small read for a
// process; where the kernel lacks it, all of /proc is read for the parents).
//
// children lists what the *thread* TID forked, so a process with several threads has several.
// Orphans that come to a subreaper are handed to one of its threads.
#include "shepherd/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace spate::shepherd {
namespace {

// A small file of /proc, as a C string in `buffer`. -1 when it cannot be read.
ssize_t ReadSmall(const char* path, char* buffer, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t got = read(fd, buffer, size - 1);
  close(fd);
  if (got >= 0) buffer[got] = '\0';
  return got;
}

// Calls fn(number) for each entry of a folder whose name is one. False when it cannot be read.
template <typename Fn>
bool EachNumber(const char* path, Fn fn) {
  DIR* folder = opendir(path);
  if (folder == nullptr) return false;
  while (dirent* entry = readdir(folder)) {
    pid_t number = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    auto [stop, error] = std::from_chars(entry->d_name, end, number);
    if (error == std::errc() && stop == end) fn(number);
  }
  closedir(folder);
  return true;
}

// The pids of a children file of any length, appended. False when there is no such file.
bool ReadChildrenFile(const char* path, std::vector<pid_t>& pids) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[4096];
  pid_t pid = 0;
  while (true) {
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else if (pid != 0) {
        pids.push_back(pid);
        pid = 0;
      }
    }
  }
  if (pid != 0) pids.push_back(pid);
  close(fd);
  return true;
}

}  // namespace

bool ReadFacts(pid_t pid, ProcessFacts& facts) {
  char path[40];
  char text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  if (ReadSmall(path, text, sizeof text) <= 0) return false;
  // The name stands in parentheses and may hold any byte, parentheses too.
  const char* open_name = std::strchr(text, '(');
  const char* close_name = std::strrchr(text, ')');
  if (open_name == nullptr || close_name == nullptr || close_name < open_name) return false;
  facts.pid = pid;
  facts.name.assign(open_name + 1, close_name);
  long long parent = 0;
  long long group = 0;
  long long session = 0;
  unsigned long long start = 0;
  long long pages = 0;
  char state = '?';
  // After the name: state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime
  // stime cutime cstime priority nice threads itrealvalue starttime vsize rss.
  int read = std::sscanf(close_name + 1,
                         " %c %lld %lld %lld %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                         "%*d %*d %llu %*u %lld",
                         &state, &parent, &group, &session, &start, &pages);
  if (read != 6) return false;
  facts.state = state;
  facts.parent = static_cast<pid_t>(parent);
  facts.group = static_cast<pid_t>(group);
  facts.session = static_cast<pid_t>(session);
  facts.start_ticks = start;
  static const long page = sysconf(_SC_PAGESIZE);
  facts.resident = static_cast<uint64_t>(std::max(pages, 0LL)) * static_cast<uint64_t>(page);
  return true;
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> pids;
  EachNumber("/proc", [&](pid_t pid) { pids.push_back(pid); });
  return pids;
}

ProcessTree::ProcessTree(pid_t root) : root_(root) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", root, root);
  has_children_file_ = access(path, R_OK) == 0;
}

bool ProcessTree::ReadChildren(pid_t pid) {
  children_.clear();
  if (!has_children_file_) {
    for (const Link& link : snapshot_) {
      if (link.parent == pid) children_.push_back(link.pid);
    }
    return !snapshot_.empty();
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
  bool told = ReadChildrenFile(path, children_);
  // A folder has two links more than it has folders in it: one for each thread.
  char folder[32];
  std::snprintf(folder, sizeof folder, "/proc/%d/task", pid);
  struct stat info;
  if (stat(folder, &info) != 0 || info.st_nlink <= 3) return told;
  EachNumber(folder, [&](pid_t thread) {
    if (thread == pid) return;
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, thread);
    told = ReadChildrenFile(path, children_) || told;
  });
  return told;
}

void ProcessTree::TakeSnapshot() {
  snapshot_.clear();
  ProcessFacts facts;
  EachNumber("/proc", [&](pid_t pid) {
    if (ReadFacts(pid, facts)) snapshot_.push_back({facts.parent, pid});
  });
}

const std::vector<pid_t>& ProcessTree::Children() {
  if (!has_children_file_) TakeSnapshot();
  ReadChildren(root_);
  return children_;
}

int ProcessTree::SignalAll(int signal) {
  constexpr int kMostPasses = 64;
  std::unordered_set<pid_t> signalled;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    size_t before = signalled.size();
    bool told = Each([&](pid_t pid) {
      if (signalled.insert(pid).second) kill(pid, signal);
    });
    if (!told) return -1;
    if (signalled.size() == before) break;
  }
  return static_cast<int>(signalled.size());
}

uint64_t ProcessTree::Resident() {
  uint64_t sum = 0;
  ProcessFacts facts;
  Each([&](pid_t pid) {
    if (ReadFacts(pid, facts)) sum += facts.resident;
  });
  return sum;
}

}  // namespace spate::shepherd
