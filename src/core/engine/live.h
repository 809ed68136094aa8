// State that the engine derives from news, time, and durable state: which nodes are connected, who
// wants what, and whose turn it is. Lost with the process; a replay rebuilds what can be known.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/deadline.h"
#include "core/engine/demand_feed.h"
#include "core/engine/durable.h"
#include "core/engine/engine.h"
#include "core/engine/head_news.h"
#include "core/engine/place/board.h"
#include "core/engine/place/decide.h"
#include "core/engine/place/gangs.h"

namespace spate::engine {

// Live state of a leased gang, next to its record.
struct GangWatch {
  Attempt attempt;
  std::set<NodeId> ready;  // nodes that have said so
  bool gone = false;       // all have: its parts may start
  bool resumed = false;    // it was leased in an earlier life, and its parts may have started
  bool sent = false;       // its leases have left the process, in this life or that one
  bool stopping = false;   // its parts were told to end
  Instant room_until = Instant::Never();  // in Live::room_deadlines
};

struct Live {
  explicit Live(const Limits& limits) : board(limits), decider(board), gangs(board) {}

  void BeginStep(Instant now) {
    step_at = now;
    board.SetClock(now);
  }
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
  // A single task that was leased to it has ended there, and its end follows (Board::SetOver).
  void SetOver(const JobState& job, NodeId node, TaskIndex index, uint32_t request);
  // It cannot be reached, and is lost at this time.
  void SetAway(NodeId node, Instant lost_at);
  // Nobody knows when gangs of the job end that are stopped; those that continue have their time.
  void SetStopped(const JobState& job);
  // The same of its single tasks that the node has. Cost: these, if any of the job is stopped.
  void SetStopped(const NodeRecord& record, NodeId id, const JobState& job);
  // By then its nodes have said that they have room.
  void SetRoomDeadline(GangWatch& watch, const place::PartKey& key, Instant until);

  place::Board board;
  place::Decider decider;
  place::Gangs gangs;
  std::map<place::PartKey, GangWatch> gangs_leased;
  std::set<std::pair<Instant, place::PartKey>> room_deadlines;
  Instant next_gangs;                           // no pass over them sooner
  Instant next_use;                             // it is recorded no sooner
  place::PartKey head_told;                     // the gang that a reservation was recorded of last,
  HeadNews head_news;                           // and when news of it may be recorded
  std::optional<AttemptRef> went_before_head;   // since something was recorded of it last
  Instant clock;                                // as far as Wake has told the time
  Instant step_at;                              // the time of the step under way
  Duration clock_ahead;                         // then: the wall clock
  std::set<JobId> set_aside;                    // Engine::SetAside
  std::set<std::pair<Instant, NodeId>> silent;  // by the time at which they are lost
  std::set<NodeId> removing;                    // RemoveNode::ends_first
  Instant next_recall;               // of what stalls: no earlier, as that looks at every node
  std::vector<Stirred::Each> risen;  // before what may wait on nodes
  Instant next_rise;                 // a look at them, likewise
  std::vector<NodesToCome::Kind> to_come;
  Deadlines deadlines;
  // When a job's gangs may have nodes again that failed one of them.
  std::set<std::pair<Instant, JobId>> trials;
  // Attempts, or parts of gangs, of which their nodes have said that all their processes stand
  // still. Of a node that is away or has come again it is not known.
  std::set<std::pair<AttemptRef, NodeId>> frozen;
  // Attempts of which it is recorded that they have used more than they asked for.
  std::set<std::pair<AttemptRef, Resource>> exceeded;
  Instant last_stop;                          // of all jobs
  Instant last_resize;                        // likewise
  std::set<std::pair<Instant, JobId>> stops;  // when jobs, or tasks of them, were stopped
  std::set<JobId> parted;                     // jobs that go on and are kept away from others
  // Pairs of jobs of which one was seen once to slow the other; at most kMostSlowed.
  static constexpr size_t kMostSlowed = 4096;
  std::set<std::pair<JobId, JobId>> slowed;
  std::unique_ptr<DemandFeed> feed;  // once somebody watches demand

 private:
  class Follower;
  void Stir(const JobState& job, place::Job& known, uint32_t request);
  void TouchParted(const Durable& durable, const Changes& changes);
  void Touch(const JobState& job);
  void SetFacts(const JobState& job, place::Job& known);

  std::vector<std::pair<const JobState*, place::Job*>> unsettled_;
};

}  // namespace spate::engine
