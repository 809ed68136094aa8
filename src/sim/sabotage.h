// Sabotage: broken wiring, on purpose. A simulator whose checkers never fail proves nothing; each
// of these must make the named checker speak (sim_test.cc).
#pragma once

#include <cstdint>

namespace spate::sim {

enum class Sabotage : uint8_t {
  kNone,
  kReleaseEarly,  // the store says "durable" before it is                        -> durable
  kLoseCommit,    // a crash loses the last durable record                        -> durable
  kForgetRecord,  // the journal leaves out every tenth record when it is read    -> replay
  kRunTwice,      // an attempt begins anew under its old number                  -> attempts
  kOversell,      // a slot runs what it should hold ahead                        -> resources
  kTellTwice,     // the watcher hears each end twice                             -> ends
  kLoseEnds,      // a message with ends gets lost while connected                -> complete
  kMixOutput,     // an attempt's end comes with another one's output             -> output
  kForgetPolicy,  // jobs are submitted with more retries, and without --once     -> repeats
  kForgetEdges,   // jobs are submitted without what their tasks wait for         -> graph
  kDeafToKill,    // a task lives on after KILL                           -> limits, strays
  // Of a hub.
  kForgetOrder,    // jobs are submitted without what they wait for                -> order
  kForgetBounds,   // jobs are submitted without --max-running                     -> bounds
  kForgetBlame,    // jobs are submitted without retries                           -> blame
  kForgetShares,   // all users' jobs are submitted as one user's                  -> fair
  kHastyHub,       // nodes that are silent are lost after a tenth of the patience -> losses
  kBelieveLies,    // what a node says of another one's tasks passes for the other's -> output
  kGoEarly,        // parts of gangs are told to go as they are given to their nodes -> gangs
  kLateDeadlines,  // jobs are submitted with later deadlines                      -> deadlines
  kShortTimes,     // jobs are submitted with less --time than their tasks take     -> reservations
  kLoseRooms,      // the hub never hears that a node has room                      -> starving
  kAckEarly,       // what is posted is acknowledged at once                       -> acks
  // Of its pools.
  kSubmitEarly,   // a pool's records count as durable before they are            -> early
  kSubmitTwice,   // the batch system takes each pilot twice                      -> doubled
  kForgetMost,    // pools may have more pilots than their owner said             -> most
  kForgetServed,  // pools serve everybody, whatever their owner said             -> vain
  kDeafToCancel,  // a cancelled pilot stays                                      -> left
  kLosePilots,    // no pilot's node ever comes                                   -> complete
  kForgetPools,   // the journal leaves out a pool's record when it is read       -> kept
};

}  // namespace spate::sim
