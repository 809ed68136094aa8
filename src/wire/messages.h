// Messages between hub and node: columnar over ranges, never one object for each task. In one
// process they are passed as they are (transport/inproc.h). kNumber is a message's own among all
// that go the same way; those without a list have one in wire/message_forms.h.
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
#include "core/model/resize.h"
#include "core/model/slowed.h"
#include "core/model/task_files.h"
#include "core/model/why.h"
#include "wire/ask.h"
#include "wire/limits.h"

namespace spate::wire {

// ---- Hub to node -------------------------------------------------------------------------------

// Before the first lease of a job.
struct OpenJob {
  static constexpr uint32_t kNumber = 1;
  JobId job;
  std::shared_ptr<const JobSettings> settings;
  SPATE_MESSAGE(1, Must(job), 2, Must(settings));
};
// Tasks to run, in this order. A node refuses an epoch older than the newest it has seen.
struct Lease {
  static constexpr uint32_t kNumber = 2;
  Epoch epoch;
  JobId job;
  Attempt attempt;
  Needs needs;
  std::vector<TaskRange> tasks;
  std::vector<std::string> rows;  // one for each task, in the same order
  // For a gang: the node takes room for its part, says so (RoomTaken), and starts it at Go.
  std::shared_ptr<const GangPart> part = nullptr;
  std::optional<Duration> time_limit = {};  // in place of the job's
  SPATE_MESSAGE(1, Must(epoch), 2, Must(job), 3, Must(attempt), 4, Must(needs),
                5, Packed(tasks, .must = true, .most = kWireLimits.lease_tasks),
                6, Bound(rows, .most = kWireLimits.row_bytes, .count = kWireLimits.lease_tasks),
                7, part, 8, time_limit);
};
// The part may start. Said again where the hub does not know whether it was heard.
struct Go {
  static constexpr uint32_t kNumber = 10;
  Epoch epoch;
  AttemptRef ref;
  SPATE_MESSAGE(1, Must(epoch), 2, Must(ref));
};
// Give back what has not started.
struct Recall {
  static constexpr uint32_t kNumber = 3;
  Epoch epoch;
  JobId job;
  SPATE_MESSAGE(1, Must(epoch), 2, Must(job));
};
// End what runs (TERM, then KILL after the job's grace), and give back the rest.
struct Stop {
  static constexpr uint32_t kNumber = 4;
  Epoch epoch;
  JobId job;
  std::vector<TaskRange> tasks;  // of these; empty: of all
  bool kill = false;             // KILL at once
  SPATE_MESSAGE(1, Must(epoch), 2, Must(job), 3, Packed(tasks, .most = kLimits.tasks_per_job),
                4, kill);
};
// Freeze what runs of these tasks, tell so (Frozen), and give back what has not started; or let
// them go on.
struct Freeze {
  static constexpr uint32_t kNumber = 15;
  Epoch epoch;
  JobId job;
  std::vector<TaskRange> tasks;
  bool frozen = false;
  Instant stop;  // names the stop; Frozen has it again
  SPATE_MESSAGE(1, Must(epoch), 2, Must(job),
                3, Packed(tasks, .must = true, .most = kLimits.tasks_per_job), 4, frozen, 5, stop);
};
// Change what an attempt has, and report the outcome (Resized); give it back if it has not started.
// Only to nodes with the feature kResizes.
struct Resize {
  static constexpr uint32_t kNumber = 16;
  Epoch epoch;
  AttemptRef ref;
  TaskSize to;
  Instant since;  // names the change; Resized has it again
  SPATE_MESSAGE(1, Must(epoch), 2, Must(ref), 3, to, 4, since);
};
// Tasks that are not this node's any more: end what runs of them.
struct Drop {
  static constexpr uint32_t kNumber = 5;
  Epoch epoch;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
  SPATE_MESSAGE(1, Must(epoch), 2, Must(job), 3, Must(attempt),
                4, Packed(tasks, .must = true, .most = kLimits.tasks_per_job));
};
// The node's reports up to this number are durable; it need not say them again.
struct ReportsTaken {
  static constexpr uint32_t kNumber = 6;
  uint64_t number = 0;
  SPATE_MESSAGE(1, number);
};
// Nothing of a job will come again, unless it is opened again.
struct CloseJob {
  static constexpr uint32_t kNumber = 7;
  JobId job;
  SPATE_MESSAGE(1, Must(job));
};
// A piece of the contents that a job brings along (core/model/task_files.h); the answer to
// WantPiece.
struct PutPiece {
  static constexpr uint32_t kNumber = 8;
  JobId job;
  uint32_t piece = 0;
  std::string bytes;
  SPATE_MESSAGE(1, Must(job), 2, piece, 3, Bound(bytes, .most = kPutPieceBytes));
};
using ToNode = std::variant<OpenJob, Lease, Recall, Stop, Drop, ReportsTaken, CloseJob, PutPiece,
                            Go, Ask, AnswerTaken, Freeze, Resize>;

// ---- Node to hub -------------------------------------------------------------------------------

// The first message of each connection. Reports that were not taken follow it again.
struct Hello {
  static constexpr uint32_t kNumber = 1;
  NodeId node;
  Offer offer;
  std::vector<HeldTasks> holds;
  std::string remote = {};  // where members of gangs reach it (GangHost::remote)
  Instant clock = {};       // the node's time, by which it tells all others; 0: not known
  std::vector<HeldTasks> frozen = {};  // of `holds`: those that were told to stand still
};
// Reports: Ends, Returned and Exceeded have numbers 1, 2, 3, ... in the life of the node.
struct Ends {
  static constexpr uint32_t kNumber = 2;
  uint64_t number = 0;
  std::vector<AttemptEnd> ends;
  std::vector<TaskOutputPtr> outputs;  // one for each end; null: it wrote nothing
};
struct Returned {
  static constexpr uint32_t kNumber = 3;
  uint64_t number = 0;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
  SPATE_MESSAGE(1, Must(job), 2, Must(attempt),
                3, Packed(tasks, .must = true, .most = kLimits.tasks_per_job), 4, number);
};
// One-way news for watchers; nothing depends on it.
struct Running {
  static constexpr uint32_t kNumber = 4;
  AttemptRef ref;
  uint16_t slot = 0;
  SPATE_MESSAGE(1, Must(ref), 2, Bound(slot, .most = kLimits.slots));
};
struct Live {
  static constexpr uint32_t kNumber = 5;
  AttemptRef ref;
  uint8_t stream = 1;
  std::string bytes;
  SPATE_MESSAGE(1, Must(ref), 2, Bound(stream, .least = 1, .most = 2),
                3, Bound(bytes, .most = kWireLimits.piece_bytes));
};
struct Slow {  // an attempt has passed the job's warn_time
  static constexpr uint32_t kNumber = 6;
  AttemptRef ref;
  SPATE_MESSAGE(1, Must(ref));
};
// A part of a gang has its room, or runs. Sent for each such part after every Hello.
// For a single task: it has ended, its room is free, and its end follows.
// From a master's slave: it waits to begin a packet of tasks; the master answers with Go.
struct RoomTaken {
  static constexpr uint32_t kNumber = 12;
  AttemptRef ref;
  SPATE_MESSAGE(1, Must(ref));
};
// All processes of an attempt stand still, as Freeze asked; or they were let go.
struct Frozen {
  static constexpr uint32_t kNumber = 15;
  AttemptRef ref;
  bool frozen = false;
  Instant stop;
  SPATE_MESSAGE(1, Must(ref), 2, frozen, 3, stop);
};
// An attempt has moved less beside another job (core/agent/slowdowns.h). Nothing depends on it.
struct Slowed {
  static constexpr uint32_t kNumber = 17;
  SlowedBeside what;
  SPATE_MESSAGE(1, Must(what));
};
// A report: an attempt has used more than it asked for. Where that stops it, its processes stand
// still.
struct Exceeded {
  static constexpr uint32_t kNumber = 18;
  uint64_t number = 0;
  AttemptRef ref;
  Excess excess;
  SPATE_MESSAGE(1, Must(ref), 2, excess, 3, number);
};
// The answer to Resize.
struct Resized {
  static constexpr uint32_t kNumber = 16;
  AttemptRef ref;
  Instant since;
  std::string refused;  // why, in words; empty: it is done
  SPATE_MESSAGE(1, Must(ref), 2, since,
                3, Bound(refused, .most = kWireLimits.note_bytes, .cut = true));
};
// The machine's free resources, and the attempts that run.
struct NodeState {
  static constexpr uint32_t kNumber = 10;
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
struct Paused {  // the node starts nothing for now, and why ("2.1 GB free, below 4 GB")
  static constexpr uint32_t kNumber = 7;
  std::string reason;  // empty: it goes on
  SPATE_MESSAGE(1, Bound(reason, .most = kWireLimits.note_bytes, .cut = true));
};
// The node ends, and what it ran has ended with it. The last message.
struct Leaving {
  static constexpr uint32_t kNumber = 8;
  SPATE_MESSAGE();
};
// Asks for one piece. A node asks for the next when it has this one, so that no more than it can
// keep is on its way.
struct WantPiece {
  static constexpr uint32_t kNumber = 9;
  JobId job;
  uint32_t piece = 0;
  SPATE_MESSAGE(1, Must(job), 2, piece);
};
using ToHub = std::variant<Hello, Ends, Returned, Running, Live, Slow, Paused, Leaving, WantPiece,
                           NodeState, RoomTaken, AnswerPiece, Frozen, Slowed, Exceeded, Resized>;

// A part of an output stream that is too long to go with its end. Only the two ends of a network
// channel say this to each other: all pieces, in order, and then the Ends that they belong to.
// Within one process the stream's file or memory changes hands instead.
struct OutputPiece {
  AttemptRef ref;
  uint8_t stream = 1;  // to kStreams
  uint64_t offset = 0;
  std::string_view bytes;  // in what it was decoded from, or in the stream
  SPATE_MESSAGE(1, Must(ref), 2, Bound(stream, .least = 1, .most = kStreams),
                3, Bound(offset, .most = kWireLimits.size),
                4, Bound(bytes, .must = true, .most = kWireLimits.piece_bytes));
};

}  // namespace spate::wire
