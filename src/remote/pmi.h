// PMI-1: how the processes of an MPI program find each other when nobody but their node has started
// them: MPICH and its relatives (Intel MPI, MVAPICH) ask whoever is behind PMI_FD for their number,
// leave there where they are reached, and look up the others.
//
// Lines of words NAME=VALUE, the first of them cmd=. As MPICH 4.0 has it (src/pmi/simple in its
// sources); what starts further processes (spawn) and names (publish) is refused, as the protocol
// provides for it.
//
// Data in, data out: connections are meeting.h's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::remote {

class PmiSpace {
 public:
  // Processes by node, in the order of their ranks.
  explicit PmiSpace(std::vector<uint32_t> per_node);

  struct Line {
    uint32_t to = 0;                          // a rank
    std::shared_ptr<const std::string> text;  // with its newline
  };
  struct Step {
    std::vector<Line> replies;
    // The program cannot go on: the exit code, and why, for people.
    std::optional<int> abort = std::nullopt;
    std::string why = {};
  };
  uint32_t members() const { return ranks_; }
  // Bytes of the line with which `bytes` begins; 0: it has not ended yet. kCorrupt: it is too long.
  static Result<uint64_t> SizeOf(std::string_view bytes);
  // One line that this process has sent, with or without its newline.
  Step Handle(uint32_t rank, std::string_view line);
  // Its connection has ended.
  Step Left(uint32_t rank);

  // The value of PMI_process_mapping: which processes are on one node.
  std::string Mapping() const;

 private:
  Step Barrier(uint32_t rank);
  Step Stuck() const;

  const std::vector<uint32_t> per_node_;
  uint32_t ranks_ = 0;
  std::map<std::string, std::string, std::less<>> values_;
  std::set<uint32_t> waiting_;   // in the barrier
  std::set<uint32_t> began_;     // have said init, and not finalize
  std::set<uint32_t> left_;      // without finalize
  std::set<uint32_t> spawning_;  // within a command of several lines
};

}  // namespace spate::remote
