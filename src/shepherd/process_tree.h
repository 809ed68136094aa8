// The processes below one of ours: finding, stopping and ending them. (os/process.h has what takes
// its time; here a process is met before its children are read, which is how forking ones are
// caught.)
//
// A process that is a subreaper has all that its children fork below it, whatever they do. The
// tree is read from /proc; it changes while it is read, so everything here works in rounds.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace spate::shepherd {

// The pids of all processes that this one can see; empty without /proc.
std::vector<pid_t> AllProcesses();
// True if the environment that a process was started with has this "NAME=value". False also when it
// may not be read.
bool HasVariable(pid_t pid, const std::string& variable);
// The value that the first of these names has there; nullopt also when it may not be read.
std::optional<std::string> FirstVariable(pid_t pid, std::span<const std::string_view> names);
// The words that it was started with, or has written in their place, with blanks between them, cut
// to `most` bytes; empty: it has none, or it ended.
std::string CommandLineOf(pid_t pid, size_t most);

class ProcessTree {
 public:
  // Everything below `root`, which may be this process.
  explicit ProcessTree(pid_t root);

  // Calls fn(pid) for each process below the root, parents first, each as soon as it is found and
  // before its children are read. Dead processes that were not reaped yet are among them.
  // False when /proc cannot tell.
  template <typename Fn>
  bool Each(Fn fn) {
    return EachBelow({&root_, 1}, [&](pid_t pid, pid_t) { fn(pid); });
  }
  // Likewise; ends early when fn returns false.
  template <typename Fn>
  bool EachWhile(Fn fn) {
    return EachBelow({&root_, 1}, [&](pid_t pid, pid_t) { return fn(pid); });
  }
  // Likewise fn(pid, parent) for those below any of `roots`, in one walk. False when /proc cannot
  // tell of one of these.
  template <typename Fn>
  bool EachBelow(std::span<const pid_t> roots, Fn fn) {
    found_.clear();
    found_.insert(roots.begin(), roots.end());
    next_.assign(roots.begin(), roots.end());
    if (!has_children_file_) ReadSnapshot();
    bool told = true;
    for (size_t i = 0; i < next_.size(); ++i) {
      if (!ReadChildren(next_[i])) {
        told = told && i >= roots.size();
        continue;
      }
      for (pid_t child : children_) {
        if (spared_.contains(child) || !found_.insert(child).second) continue;
        next_.push_back(child);
        if constexpr (std::is_same_v<decltype(fn(child, child)), bool>) {
          if (!fn(child, next_[i])) return told;
        } else {
          fn(child, next_[i]);
        }
      }
    }
    return told;
  }

  // This child of the root, with all that is below it, is left out from now on.
  void Spare(pid_t child) { spared_.insert(child); }
  void SpareNoMore(pid_t child) { spared_.erase(child); }

  // The children of the root alone.
  const std::vector<pid_t>& Children();

  // Sends `signal` to each process, in passes until one finds nobody new: with SIGSTOP or
  // SIGKILL nobody can escape by forking but a child whose parent died meanwhile, which the
  // next pass finds. Returns how many got it, -1 when /proc cannot tell.
  int SignalAll(int signal);

 private:
  bool ReadChildren(pid_t pid);
  void ReadSnapshot();

  pid_t root_;
  bool has_children_file_ = true;  // CONFIG_PROC_CHILDREN; without it all of /proc is read
  struct Link {
    pid_t parent, pid;
  };
  std::vector<Link> snapshot_;   // only without children files
  std::vector<pid_t> children_;  // of the last ReadChildren
  std::unordered_set<pid_t> spared_;
  std::unordered_set<pid_t> found_;  // in this Each
  std::vector<pid_t> next_;          // whose children are to be read
};

}  // namespace spate::shepherd
