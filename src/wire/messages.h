// Messages between hub and node: columnar over ranges, never one object for each task. In one
// process they are passed as they are (transport/inproc.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "core/model/attempt.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/machine_load.h"
#include "core/model/needs.h"
#include "core/model/ranges.h"
#include "core/model/why.h"
#include "wire/ask.h"

namespace spate::wire {

// ---- Hub to node -------------------------------------------------------------------------------

// Before the first lease of a job.
struct OpenJob {
  JobId job;
  std::shared_ptr<const JobSettings> settings;
};
// Tasks to run, in this order. A node refuses an epoch older than the newest it has seen.
struct Lease {
  Epoch epoch;
  JobId job;
  Attempt attempt;
  Needs needs;
  std::vector<TaskRange> tasks;
  std::vector<std::string> rows;  // one for each task, in the same order
  // For a gang: the node takes room for its part, says so (RoomTaken), and starts it at Go.
  std::shared_ptr<const GangPart> part = nullptr;
};
// The part may start. Said again where the hub does not know whether it was heard.
struct Go {
  Epoch epoch;
  AttemptRef ref;
};
// Give back what has not started.
struct Recall {
  Epoch epoch;
  JobId job;
};
// End what runs (TERM, then KILL after the job's grace), and give back the rest.
struct Stop {
  Epoch epoch;
  JobId job;
  std::vector<TaskRange> tasks;  // of these; empty: of all
};
// Tasks that are not this node's any more: end what runs of them.
struct Drop {
  Epoch epoch;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
// The node's reports up to this number are durable; it need not say them again.
struct ReportsTaken {
  uint64_t number = 0;
};
// Nothing of a job will come again, unless it is opened again.
struct CloseJob {
  JobId job;
};
// A piece of the contents that a job brings along (core/model/task_files.h); the answer to
// WantPiece.
struct PutPiece {
  JobId job;
  uint32_t piece = 0;
  std::string bytes;
};
using ToNode = std::variant<OpenJob, Lease, Recall, Stop, Drop, ReportsTaken, CloseJob, PutPiece,
                            Go, Ask, AnswerTaken>;

// ---- Node to hub -------------------------------------------------------------------------------

// The first message of each connection. Reports that were not taken follow it again.
struct Hello {
  NodeId node;
  Offer offer;
  std::vector<HeldTasks> holds;
  std::string remote = {};  // where members of gangs reach it (GangHost::remote)
  Instant clock = {};       // the node's time, by which it tells all others; 0: not known
};
// Reports: Ends and Returned have numbers 1, 2, 3, ... in the life of the node.
struct Ends {
  uint64_t number = 0;
  std::vector<AttemptEnd> ends;
  std::vector<TaskOutputPtr> outputs;  // one for each end; null: it wrote nothing
};
struct Returned {
  uint64_t number = 0;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
// One-way news for watchers; nothing depends on it.
struct Running {
  AttemptRef ref;
  uint16_t slot = 0;
};
struct Live {
  AttemptRef ref;
  int stream = 1;
  std::string bytes;
};
struct Slow {  // an attempt has passed the job's warn_time
  AttemptRef ref;
};
// A part of a gang has its room, or runs. Sent for each such part after every Hello.
// For a single task: it has ended, its room is free, and its end follows.
// From a master's slave: it waits to begin a packet of tasks; the master answers with Go.
struct RoomTaken {
  AttemptRef ref;
};
// The machine's free resources, and the attempts that run.
struct NodeState {
  struct Run {
    AttemptRef ref;
    Instant since;
    std::string left = {};  // what its command left running and is waited for; empty: it runs
    friend bool operator==(const Run&, const Run&) = default;
  };
  // Tasks of a job that were given to the node and may not start yet.
  struct Wait {
    AttemptRef first;       // one of them
    uint32_t tasks = 0;     // how many
    std::string user = {};  // whose account is being looked up; empty: files are on their way,
    Reason why = {};        // or this, which leaves out the node's name (agent::Line)
    friend bool operator==(const Wait&, const Wait&) = default;
  };
  MachineLoad machine;
  std::vector<Run> runs;    // by slot
  std::vector<Wait> waits;  // by job; at most kNodeWaits with a reason, and as many without
  std::string no_room;      // why it starts nothing: its disk is full; empty: it has room
  Instant clock = {};       // as of Hello
};
inline constexpr size_t kNodeWaits = 100;
struct Paused {        // the node starts nothing for now, and why ("2.1 GB free, below 4 GB")
  std::string reason;  // empty: it goes on
};
// The node ends, and what it ran has ended with it. The last message.
struct Leaving {};
// Asks for one piece. A node asks for the next when it has this one, so that no more than it can
// keep is on its way.
struct WantPiece {
  JobId job;
  uint32_t piece = 0;
};
using ToHub = std::variant<Hello, Ends, Returned, Running, Live, Slow, Paused, Leaving, WantPiece,
                           NodeState, RoomTaken, AnswerPiece>;

// A part of an output stream that is too long to go with its end. Only the two ends of a network
// channel say this to each other: all pieces, in order, and then the Ends that they belong to.
// Within one process the stream's file or memory changes hands instead.
struct OutputPiece {
  AttemptRef ref;
  int stream = 1;  // to kStreams
  uint64_t offset = 0;
  std::string_view bytes;  // in what it was decoded from, or in the stream
};

}  // namespace spate::wire
