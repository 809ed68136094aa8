// Stdout and stderr of the ranks of a gang's part, as far as they are not redirected:
// each rank writes to nameless files of its own, which nobody reads before all have ended. A killed
// shepherd leaves nothing of them, and a rank that fills the disk gets the error itself.
//
// The files are the user's, so that a rank may open them by name (/dev/stdout).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/fd.h"
#include "shepherd/output_collector.h"
#include "shepherd/pulse.h"
#include "shepherd/spawn.h"

namespace spate::shepherd {

class RankOutputs {
 public:
  // Begins a fresh attempt without ranks; Open makes them.
  void Begin();
  bool empty() const { return ranks_.empty(); }

  // Ours. When they were made before, nothing is done. `user`: whose they are, unless ours.
  std::optional<StartFailure> Open(const std::string& spool_folder, size_t ranks,
                                   std::optional<uint32_t> user);
  // Descriptors that become 1 and 2 of a rank, counted from 0. -1: none is open.
  int out(size_t rank) const { return empty() ? -1 : ranks_[rank][0].get(); }
  int err(size_t rank) const { return empty() ? -1 : ranks_[rank][1].get(); }

  // A piece of what a rank has written to stream 1 or 2 so far. There is such a rank.
  StreamSoFar SoFar(size_t rank, int stream, uint64_t from, uint32_t most) const;
  size_t ranks() const { return ranks_.size(); }

  // All processes are dead: puts what each has written behind that of the rank before, and gives
  // the files up one by one.
  struct Lengths {
    uint64_t out = 0;
    uint64_t err = 0;
  };
  std::vector<Lengths> DrainInto(OutputCollector& out, OutputCollector& err, Pulse pulse);
  void Clear();

  // Open files that a process may have, where these took more than there were: what a rank is to
  // have. Nullopt: as this process.
  std::optional<uint64_t> files_of_ranks() const { return files_before_; }

 private:
  std::optional<StartFailure> NeedFiles(uint64_t count);

  std::vector<std::array<os::Fd, 2>> ranks_;
  std::optional<uint64_t> files_before_;
};

}  // namespace spate::shepherd
