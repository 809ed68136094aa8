// Messages that stand in bytes as the fields of another type: in columns, or as older programs know
// them. FormOf<T> has that type, and the way there and back; of most messages it is T itself.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/job.h"
#include "core/model/machine_load.h"
#include "core/model/needs.h"
#include "core/model/why.h"
#include "wire/message_check.h"
#include "wire/messages.h"

namespace spate::wire {

template <typename T>
struct FormOf {
  using Type = T;
  static const T& ToForm(const T& message) { return message; }
  // `from` is within the bounds of its fields.
  static T FromForm(MessageCheck&, T&& from) { return std::move(from); }
};

struct OfferForm {
  std::string node_name;
  uint32_t slots = 0;
  uint32_t milli_cpus = 0;
  uint64_t memory = 0;
  std::vector<std::string> name;  // of what is named
  std::vector<uint32_t> pieces;   // how many of `index` belong to each
  std::vector<std::string> index;
  std::string user;
  std::vector<std::string> label;
  uint64_t end_of_life = 0;  // ns since 1970; 0: none is known
  std::string temp_dir;
  static constexpr uint64_t kTextBytes = kLimits.name_bytes;
  SPATE_MESSAGE(1, Must(node_name), 2, Bound(slots, .least = 1, .most = kLimits.slots),
                3, milli_cpus, 4, Bound(memory, .most = kLimits.size),
                5, Bound(name, .sorted = true), 6, pieces, 7, index, 8, user,
                9, Bound(label, .sorted = true), 10, Bound(end_of_life, .most = INT64_MAX),
                11, Bound(temp_dir, .most = kLimits.text_bytes));
};
struct HelloForm {
  NodeId node;
  OfferForm offer;
  std::vector<uint32_t> holds;  // in threes: job, attempt, how many of `tasks`
  std::vector<TaskRange> tasks;
  std::string remote;
  Instant clock;
  std::vector<uint32_t> frozen;  // as `holds`, of `frozen_tasks`
  std::vector<TaskRange> frozen_tasks;
  SPATE_MESSAGE(1, Must(node), 2, Must(offer), 3, holds,
                4, Packed(tasks, .most = kLimits.tasks_per_job),
                5, Bound(remote, .most = kLimits.name_bytes), 6, clock, 7, frozen,
                8, Packed(frozen_tasks, .most = kLimits.tasks_per_job));
};
template <>
struct FormOf<Hello> {
  using Type = HelloForm;
  static HelloForm ToForm(const Hello& message);
  static Hello FromForm(MessageCheck& in, HelloForm&& from);
};

struct NodeStateForm {
  struct Wait {
    AttemptRef first;
    uint32_t tasks = 0;
    SPATE_FIELDS(0, Embed(first), 4, tasks);
  };
  // A few names with their numbers; of thousands of tasks in one message.
  static constexpr uint64_t kTextBytes = 1000;
  MachineLoad machine;
  std::vector<AttemptRef> runs;
  std::vector<Instant> since;     // one for each run
  std::vector<std::string> left;  // likewise; or none, when all are empty
  std::vector<Wait> waits;        // those without a reason
  std::vector<std::string> waits_for;
  std::string no_room;
  Instant clock;
  std::vector<Wait> lines;  // those with one
  std::vector<Reason> lines_why;
  SPATE_MESSAGE(0, Embed(machine), 6, Packed(runs, .count = kLimits.slots, .of = "runs"), 7, since,
                8, left, 9, Packed(waits), 10, Bound(waits_for, .count = kNodeWaits), 11, no_room,
                12, clock, 13, Packed(lines),
                14, Bound(lines_why, .count = kNodeWaits, .of = "reasons"));
};
template <>
struct FormOf<NodeState> {
  using Type = NodeStateForm;
  static NodeStateForm ToForm(const NodeState& message);
  static NodeState FromForm(MessageCheck& in, NodeStateForm&& from);
};

// Ends in columns. A column has one value for each row, or none when each row has its default: 0,
// unless wire/ends_codec.cc says otherwise. Times and lengths of time are nanoseconds.
struct EndsForm {
  std::vector<uint32_t> job;   // pairs (job, how many ends in a row); they give the number of rows
  std::vector<int32_t> index;  // less the row before's, modulo 2^32
  std::vector<uint32_t> attempt;
  std::vector<uint32_t> cause;
  std::vector<int32_t> status;
  std::vector<uint32_t> slot;
  std::vector<int64_t> start;  // less the row before's, modulo 2^64
  std::vector<uint64_t> wall;
  std::vector<uint64_t> user;
  std::vector<uint64_t> system;
  std::vector<uint64_t> peak_memory;
  std::vector<uint32_t> memory_source;
  std::vector<uint32_t> left_behind;
  std::vector<uint64_t> stdout_total;
  std::vector<uint64_t> stderr_total;
  std::vector<int64_t> read_bytes;
  std::vector<int64_t> written_bytes;
  std::vector<std::string> note;
  std::vector<uint32_t> processes;  // how many of the columns process_... belong to each row
  std::vector<uint32_t> process_step;
  std::vector<uint32_t> process_command;
  std::vector<uint32_t> process_rank;
  std::vector<int32_t> process_status;
  std::vector<uint32_t> stdout_here;  // bytes of each stream that are in `output`
  std::vector<uint32_t> stderr_here;
  std::vector<uint64_t> stdout_apart;  // bytes of each stream that came as OutputPieces
  std::vector<uint64_t> stderr_apart;
  std::string output;  // for each row what it wrote to stdout, then to stderr, then its files
  uint64_t number = 0;
  std::vector<uint32_t> files_here;
  std::vector<uint64_t> files_apart;
  std::vector<uint64_t> process_stdout;  // of a gang's part: bytes of each process; or none
  std::vector<uint64_t> process_stderr;
  std::vector<uint32_t> not_kept;
  SPATE_MESSAGE(1, job, 2, index, 3, attempt, 4, cause, 5, status, 6, slot, 7, start, 8, wall,
                9, user, 10, system, 11, peak_memory, 12, memory_source, 13, left_behind,
                14, stdout_total, 15, stderr_total, 16, read_bytes, 17, written_bytes, 18, note,
                19, processes, 20, process_step, 21, process_command, 22, process_rank,
                23, process_status, 24, stdout_here, 25, stderr_here, 26, stdout_apart,
                27, stderr_apart, 28, output, 29, number, 30, files_here, 31, files_apart,
                32, process_stdout, 33, process_stderr, 34, not_kept);
};
template <>
struct FormOf<Ends> {
  using Type = EndsForm;
  static EndsForm ToForm(const Ends& message);
  static Ends FromForm(MessageCheck& in, EndsForm&& from);
};

}  // namespace spate::wire
