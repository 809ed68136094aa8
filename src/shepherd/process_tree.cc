// Reads /proc: PID/task/TID/children (one small read for a process; where the kernel lacks it, all
// of /proc is read for the parents).
//
// children lists what the *thread* TID forked, so a process with several threads has several.
// Orphans that come to a subreaper are handed to one of its threads.
#include "shepherd/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "os/fd.h"
#include "os/file.h"
#include "os/process.h"

namespace spate::shepherd {
namespace {

constexpr size_t kMostEnvironment = 4 << 20;

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

// Calls fn("NAME=value") for each variable that the process was started with.
template <typename Fn>
void EachVariable(pid_t pid, Fn fn) {
  auto text = os::ReadFile(fmt::format("/proc/{}/environ", pid), kMostEnvironment);
  if (!text) return;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find('\0'));
    fn(one);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
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

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> pids;
  EachNumber("/proc", [&](pid_t pid) { pids.push_back(pid); });
  return pids;
}

bool HasVariable(pid_t pid, const std::string& variable) {
  bool found = false;
  EachVariable(pid, [&](std::string_view one) { found = found || one == variable; });
  return found;
}

std::optional<std::string> FirstVariable(pid_t pid, std::span<const std::string_view> names) {
  size_t best = names.size();
  std::string value;
  EachVariable(pid, [&](std::string_view one) {
    const auto at = std::ranges::find(names, one.substr(0, one.find('=')));
    const auto place = static_cast<size_t>(at - names.begin());
    if (place >= best || one.size() == at->size()) return;
    best = place;
    value = one.substr(at->size() + 1);
  });
  return best < names.size() ? std::optional(std::move(value)) : std::nullopt;
}

std::string CommandLineOf(pid_t pid, size_t most) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
  os::Fd file(open(path, O_RDONLY | O_CLOEXEC));
  std::string text(most, '\0');
  const ssize_t got = file ? read(file.get(), text.data(), most) : -1;
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  text.resize(text.find_last_not_of('\0') + 1);
  std::ranges::replace(text, '\0', ' ');
  return text;
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

void ProcessTree::ReadSnapshot() {
  snapshot_.clear();
  EachNumber("/proc", [&](pid_t pid) {
    if (auto info = os::InfoOf(pid)) snapshot_.push_back({info->parent, pid});
  });
}

const std::vector<pid_t>& ProcessTree::Children() {
  if (!has_children_file_) ReadSnapshot();
  ReadChildren(root_);
  std::erase_if(children_, [this](pid_t child) { return spared_.contains(child); });
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

}  // namespace spate::shepherd
