// The exchange between the parts of a gang whose processes find each other by PMIx, as Open MPI's
// do. Each part has a server (spate-pmix) that speaks PMIx with the part's processes; this class,
// at the gang's first process, joins the servers: it collects the data of fences, and passes on
// what processes ask of single others.
//
// It ends the program where some process would wait for ever: one has left that others need.
//
// Data in, data out: connections are meeting.h's, messages are messages.h's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "remote/pmix/messages.h"

namespace spate::remote {

class PmixSpace {
 public:
  // Processes by part, in the order of their ranks.
  explicit PmixSpace(std::vector<uint32_t> per_part);

  struct Reply {
    uint32_t to = 0;                          // a part
    std::shared_ptr<const std::string> text;  // one message; many replies may share it
  };
  struct Step {
    std::vector<Reply> replies;
    // The program cannot go on: the exit code, and why, for people.
    std::optional<int> abort = std::nullopt;
    std::string why = {};
    bool ends_itself = false;  // the process that is to blame, with that code
  };
  uint32_t members() const { return static_cast<uint32_t>(first_rank_.size()) - 1; }
  // True if a process has connected to its server.
  bool used() const { return !seen_.empty(); }
  // Same contract as SizeOfPmix.
  static Result<uint64_t> SizeOf(std::string_view bytes) { return SizeOfPmix(bytes); }
  // One whole message of this part.
  Step Handle(uint32_t part, std::string_view message);
  // The part's connection has ended: nothing more comes of it.
  Step Left(uint32_t part);

 private:
  // Fences of one set of ranks. Equal sets' fences follow each other; parts may be ahead of others.
  struct Fences {
    std::vector<uint32_t> parts;                         // that have ranks of the set
    std::deque<std::map<uint32_t, std::string>> rounds;  // data by part
  };
  struct Asked {
    uint32_t by = 0;  // a part
    std::string id;   // its own
    uint32_t rank = 0;
  };
  uint32_t ranks() const { return first_rank_.back(); }
  uint32_t PartOf(uint32_t rank) const;
  Step Fence(uint32_t part, std::string_view set, std::string_view data);
  Step Get(uint32_t part, std::string_view id, uint32_t rank);
  Step Data(uint32_t part, std::string_view id, std::string_view status, std::string_view data);
  Step Ended(uint32_t rank);
  Step Stuck() const;
  template <typename Which>
  void AnswerNotFound(Step& step, Which which);

  std::vector<uint32_t> first_rank_;                   // by part, and behind the last one
  std::map<std::string, Fences, std::less<>> fences_;  // those that somebody waits in
  std::map<uint32_t, Asked> asked_;                    // by the number that its owner was told
  uint32_t next_ask_ = 0;
  std::set<uint32_t> begun_;      // processes that are in MPI: connected, and not finalized
  std::set<uint32_t> strangers_;  // that have ended and never connected
  std::set<uint32_t> seen_;       // that have connected at some time
  std::set<uint32_t> ended_;
};

}  // namespace spate::remote
