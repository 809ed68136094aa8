// Children that somebody else made: a process keeps its children when a new program takes its
// place, so `exec spate run` in a shell has the shell's, and `spate run > >(gzip)` has the gzip.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace spate::shepherd {

class ForeignChildren {
 public:
  // None.
  ForeignChildren() = default;
  // All that is below this process now, but for the children in `ours` and what is below those. Our
  // tasks' processes have `mark` ("NAME=value") in their environment; empty: no such mark.
  ForeignChildren(const std::vector<pid_t>& ours, std::string mark);

  bool empty() const { return known_.empty(); }
  // The owner of a child of this process. Foreign are those that existed before, and their orphans,
  // which come to us because we are a subreaper. Exact for those that existed. Orphans without our
  // mark count as foreign: better that a task's process, which emptied its environment and whose
  // shepherd was killed, goes on than that a stranger's ends. If no child existed at the start,
  // none is foreign. A process that is dying, or about to become another program, has no
  // environment to look at: ask again a little later.
  enum class Whose { kOurs, kForeign, kUnclear };
  Whose OwnerOf(pid_t child) const;

 private:
  std::unordered_map<pid_t, uint64_t> known_;  // with the start time
  std::string mark_;
};

}  // namespace spate::shepherd
