// What the engine makes of news, of time, and of what is durable: who is there, who wants what, and
// whose turn it is. Gone with the process; a replay builds as much of it as there is to know.
#pragma once

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/demand_feed.h"
#include "core/engine/durable.h"
#include "core/engine/engine.h"
#include "core/engine/place/board.h"
#include "core/engine/place/decide.h"

namespace spate::engine {

struct Live {
  explicit Live(const Limits& limits) : board(limits), decider(board) {}

  // The board is told what a record changed. `record` is applied.
  void Follow(const Durable& durable, const Record& record, const Changes& changes);
  // Jobs stand in their old place until this, whatever was told of them.
  void Settle();
  // Tasks that are due now ask for room from now on.
  void Wake(const Durable& durable, Instant now);
  // A finished job that another engine had.
  void Reload(const JobState& job);
  // News of a node; what its leases take of it is counted anew.
  void SetOffer(const Durable& durable, NodeId node, const Offer& offer);
  // It cannot be reached, and is lost at this time.
  void SetAway(NodeId node, Instant lost_at);

  place::Board board;
  place::Decider decider;
  Instant clock;                                // as far as Wake has told the time
  std::set<JobId> set_aside;                    // Engine::SetAside
  std::set<std::pair<Instant, NodeId>> silent;  // by the time at which they are lost
  Instant next_recall;               // of what stalls: no earlier, as that looks at every node
  std::vector<Stirred::Each> risen;  // before what may wait on nodes
  Instant next_rise;                 // a look at them, likewise
  std::vector<NodesToCome::Kind> to_come;
  std::unique_ptr<DemandFeed> feed;  // once somebody watches demand

 private:
  class Follower;
  void Stir(const JobState& job, place::Job& known, uint32_t request);
  void Touch(const JobState& job);

  std::vector<std::pair<const JobState*, place::Job*>> unsettled_;
};

}  // namespace spate::engine
