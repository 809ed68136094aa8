// Why something waits or cannot be, as values: clauses, each of a kind with arguments, in the order
// in which a person reads them. present/why.h makes the text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/model/fields.h"

namespace spate {

// Behind each kind are its arguments: numbers; times; names. "..." is a list, the last of its sort;
// `more` is 1 when a list is cut off. Kinds go over the wire: their numbers stay.
enum class ReasonKind : uint8_t {
  kUnknown = 0,  // of a newer program
  kNext = 1,     // what follows is a reason of its own
  kNoSuchTask = 2,

  // ---- Before its turn
  kHeld = 3,             // job, HoldReason
  kAfterJob = 4,         // job, AfterKind, task (from 1; of kEach)
  kAfterHeld = 5,        // job; that job's kHeld or kOpen follows
  kParents = 6,          // unfinished, all, more, tasks...; ; their names..., where these are known
  kCircle = 7,           // tasks, job
  kOpen = 8,             // job: all its tasks have ended, and more may be added
  kAfterStuck = 9,       // job; why that cannot continue follows
  kElsewhere = 10,       // ; ; node on which it failed
  kNextTry = 11,         // ; time until then
  kJobLimit = 12,        // tasks at once
  kUserLimit = 13,       // tasks at once; ; user
  kPriority = 14,        // job ahead, its priority
  kFairShare = 15,       // running tasks of others, and of this user; ; or of this user's group
  kOthersAhead = 16,     //
  kSuspectNode = 17,     // failures; time until the next trial, or 0; node
  kLeftRunning = 18,     // ; ; processes, node
  kQueueIsFull = 19,     // tasks allowed, tasks that there would be; ; user
  kDeadlinePassed = 20,  // ; time since
  kDeadlineTooSoon = 21,  // ; time until then, time of a task
  kNothingStored = 22,    // the hub cannot write at the moment
  // running tasks, more, SilentFate, nodes' NodeIds...; time until they are lost; their names...
  kSilentNodes = 23,
  kRunning = 24,       // ; time since its start; node. It does not wait
  kGiven = 25,         // ; ; node, where it is known
  kUserLookedUp = 26,  // ; ; node, user
  kFilesOnWay = 27,    // ; ; node
  kCancelled = 28,     // job, tasks that have not ended yet
  kOutputWaits = 29,   // ; ; node that keeps it until the hub's disk has room

  // ---- No node can run it. A misfit follows those that end in "it".
  kNoNodeJoined = 30,   //
  kNoNodeFits = 31,     // a misfit follows
  kNodesTakeNone = 32,  // nodes, as below
  kNoSetOfNodes = 33,   // a misfit follows
  kAskForLess = 34,     // after kNoSetOfNodes
  kSomeCannotRun = 35,  // tasks; the reason follows
  kWasCutOff = 36,      // times; longest attempt. After another reason
  kTooFewNodes = 37,    // nodes needed, processes on each, nodes with that room
  kTooFewPlaces = 38,   // processes needed, room
  kNodesAway = 39,      // nodes, as below: none is connected, these were and may come back
  kNodesMissing = 40,   // nodes, as below. After another reason
  // Nodes: NodeTrouble of each...; how long they are away, or 0...; their names..., then a note of
  // each: why it is drained, or the release for which it is refused

  // ---- Stopped tasks
  kStopped = 46,     // job, task (0: the whole job), Freezing; time since; user
  kRoomFrozen = 47,  // job that is stopped; time since; its user, node

  // ---- Misfits: why a task does not fit a node
  kOnOtherNode = 50,      // ; ; node wanted, this one
  kNotOnNode = 51,        // ; ; node
  kLacksFeature = 52,     // ; ; feature, node
  kLacksLabel = 53,       // ; ; label, node
  kTooManyCpus = 54,      // thousandths needed, offered; ; node
  kTooMuchMemory = 55,    // bytes needed, offered; ; node
  kTooManyOf = 56,        // needed, offered; ; resource, node
  kMoreThanOffered = 57,  // ; ; node
  kOtherUsersNode = 58,   // ; ; user, node, user of the node
  kNodeEndsFirst = 59,    // ; planned, left; node
  kOnPilot = 60,          // ; ; node wanted
  kDoesNotFit = 61,       // ; ; node
  kPoolOfOther = 62,      // ; ; pool, user
  kPilotTooShort = 63,    // ; planned, longest; pool
  kPoolTooSmall = 64,     // nodes needed, nodes of the pool; ; pool
  kGangProcess = 65,      // a misfit of each of the gang's processes follows
  // processes, nodes (0: any), nodes or processes with room, all nodes, thousandths of a cpu and
  // bytes of memory of a process, more, count of its resources, their numbers..., processes that
  // each node holds...; ; resources..., nodes...
  kGangTooLarge = 66,

  // ---- Gangs
  kGangBefore = 80,      // job, task, 1: tried again, 1: the first that waits
  kGangPlace = 81,       // 1: the first that waits, 0: it has a reservation. When follows
  kGangNeeds = 82,       // 1: what runs there is late, 2..4: it is unbound, more; ; nodes...
  kGangOwnJobs = 83,     // jobs of its user...
  kGangLooks = 84,       // nodes, 1: kept for it; time until the next look
  kGangStarts = 85,      // more; time until then; nodes...
  kGangAfterOwn = 86,    // jobs of its user...
  kGangLater = 87,       // ; ; reason that the journal has
  kOtherGangFirst = 88,  // job, GangRule, more; ; nodes...
  kPartWaits = 89,       // ; ; node, or none: it is not back yet
  kKeptForGang = 90,     // job, task, nodes, more, 1: its start is known; time; user, nodes...
  kGangOverdue = 93,     // job, task or 0, 1: others too; time beyond its estimate; node
  kGangWasFirst = 94,    // job, task: first now, 1: the told start is past; time to or since it

  // ---- Pools
  kPoolPaused = 100,  // ; ; pool, reason
  // pilots that joined, queued, not submitted yet; ; pool, time of the first queued one, its
  // reason, words, trouble
  kPoolState = 101,
  kPoolGone = 102,  // ; ; pool that was removed

  // ---- A node was given it, and starts it as soon as it can
  kSlotsTaken = 110,    // slots, and with one slot: job, task; ; node
  kSlotKept = 111,      // job, task; ; node, processes that the task left running
  kNodeLacks = 112,     // needed, free (bytes, thousandths of cpus); ; node, resource
  kStartsPaused = 113,  // ; ; node, why, in words
  kStartDelay = 114,    // ; --delay; node
  kLineOfNode = 115,    // others go first; ; node
};
constexpr ReasonKind LastInBytes(ReasonKind) { return ReasonKind{255}; }

enum class NodeTrouble : uint8_t { kAway, kDrained, kFull, kRefused, kMore };
// The fate of tasks whose nodes are silent for too long, or of refused ones.
enum class SilentFate : uint8_t { kElsewhere, kSameNode, kUnknown, kCancelled, kKept };

// How a gang that is not the first may pass that one (kOtherGangFirst).
enum class GangRule : uint8_t { kStartUnknown, kNobodyPasses, kNoTime, kInTime };

struct Reason {
  ReasonKind kind = ReasonKind::kUnknown;
  std::vector<int64_t> numbers = {};
  std::vector<Duration> times = {};
  std::vector<std::string> names = {};

  SPATE_FIELDS(1, kind, 2, numbers, 3, times, 4, names);
  friend bool operator==(const Reason&, const Reason&) = default;
};

// Empty: there is none.
using Why = std::vector<Reason>;

// Adds the rest of a reason.
inline void Append(Why& to, Why rest) {
  for (Reason& each : rest) to.push_back(std::move(each));
}
// Adds a reason of its own; nothing when it is empty.
inline void AppendNext(Why& to, Why next) {
  if (!to.empty() && !next.empty()) to.push_back({ReasonKind::kNext});
  Append(to, std::move(next));
}

}  // namespace spate
