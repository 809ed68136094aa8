// Sabotage: broken wiring, on purpose. A simulator whose checkers never fail proves nothing; each
// of these must make the named checker speak (sim_test.cc).
#pragma once

#include <cstdint>

namespace spate::sim {

enum class Sabotage : uint8_t {
  kNone,
  kReleaseEarly,  // the store says "durable" before it is                        -> durable
  kLoseCommit,    // a crash loses the last durable record                        -> durable
  kLoseRow,       // a crash loses the newest record's row, alone                 -> journal
  kForgetRecord,  // the journal leaves out every tenth record when it is read    -> replay
  kRunTwice,      // an attempt begins anew under its old number                  -> attempts
  kOversell,      // a slot runs what it should hold ahead                        -> resources
  kTellTwice,     // the watcher hears each end twice                             -> ends
  kLoseEnds,      // a message with ends gets lost while connected                -> complete
  kMixOutput,     // an attempt's end comes with another one's output             -> output
  kForgetPolicy,  // jobs are submitted with more retries, and without --once     -> repeats
  kForgetEdges,   // jobs are submitted without what their tasks wait for         -> graph
  kDeafToKill,    // a task lives on after KILL                           -> limits, strays
  // Faults of a hub.
  kForgetOrder,      // jobs are submitted without what they wait for                -> order
  kForgetBounds,     // jobs are submitted without --max-running                     -> bounds
  kForgetBlame,      // jobs are submitted without retries                           -> blame
  kForgetShares,     // all users' jobs are submitted as one user's          -> fair, passed
  kHastyHub,         // nodes that are silent are lost after a tenth of the patience -> losses
  kPatientHub,       // nodes that are silent keep their tasks twenty times as long   -> silent
  kBelieveLies,      // what a node says of another one's tasks passes for the other's -> output
  kGoEarly,          // parts of gangs are told to go as they are given to their nodes -> gangs
  kLateDeadlines,    // jobs are submitted with later deadlines                      -> deadlines
  kShortTimes,       // jobs are submitted with half of the --time of their tasks
                     //                                                -> reservations, lives
  kDeafToClock,      // the hub never hears that its clock was set            -> clock, deadlines
  kLoseRooms,        // the hub never hears that a node has room                      -> starving
  kLoseStarts,       // the hub never hears that a node runs a task                   -> running
  kFalseFrozen,      // nodes say that what they should freeze stands still, and it runs -> frozen
  kDeafToFreeze,     // nodes never hear that tasks are stopped                      -> frozen
  kDeafToThaw,       // nor that they are continued                                  -> frozen
  kForgetFrozen,     // a node's process forgets how long the last one's tasks stood -> frozen
  kEverybodySteers,  // everybody may stop, continue, kill and signal all jobs     -> rights
  // Faults of a hub's answers (broken_answers.h).
  kAckEarly,       // the cancelling of a job is acknowledged at once              -> answers
  kForgetHold,     // jobs are not held, and that is acknowledged                  -> answers
  kForgetRelease,  // the same of what is let go                                   -> answers
  kForgetClose,    // of what is closed                                            -> answers
  kForgetSet,      // a job's new max_running is left out                          -> answers
  kCancelLess,     // of some tasks only the first one is cancelled                -> answers
  kStopLess,       // of a job only the first task is stopped                      -> answers
  kForgetCont,     // what is to be continued stays stopped, and that is acknowledged -> answers
  kRetryLess,      // of all tasks only the first two are done again               -> answers
  kForgetNothing,  // what is to be forgotten stays                                -> answers
  kSetAllOfUser,   // what is not said of a user becomes as it is by default       -> answers
  kForgetDrain,    // nodes are not drained                                        -> answers
  kTellLess,       // of what is left to do of a job some is left out              -> answers
  kHideHolds,      // a held job is shown as if it were not                        -> answers
  kRunLonger,      // tasks are shown to run for an hour longer than they do        -> displays
  kWaitLonger,     // so long is shown that jobs wait                              -> displays
  kEverybodyMay,   // everybody is an administrator                                -> rights
  // Faults of its pools.
  kSubmitEarly,   // a pool's records count as durable before they are            -> early
  kSubmitTwice,   // the batch system takes each pilot twice                      -> doubled
  kForgetMost,    // pools may have more pilots than their owner said             -> most
  kKeepMost,      // pools always want as many pilots as they may have            -> demand
  kForgetServed,  // pools serve everybody, whatever their owner said             -> vain
  kDeafToCancel,  // a cancelled pilot stays                                      -> left
  kLosePilots,    // no pilot's node ever comes                                   -> complete
  kNeverCut,      // nothing of pools is ever removed from the journal            -> growth
  kBabble,        // each line of the log is written thirty times                 -> growth
  kForgetPools,   // the journal leaves out a pool's record when it is read       -> kept
  // Others of a node.
  kChangeLate,  // an attempt has the other request only a while after that is confirmed ->
                // resources
};

}  // namespace spate::sim
