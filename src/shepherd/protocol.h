// Protocol between a shepherd and its parent, over a stream socket of one machine.
//
// Orders go to the shepherd, reports come from it. Each lists its fields once, for both ways
// (core/model/fields.h); only the body of a Start is laid out by hand, to be used in place.
// See docs/formats/shepherd.md for the grammar. Decoders accept any bytes and return kCorrupt for
// what they do not understand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/model/attempt.h"
#include "core/model/body.h"
#include "core/model/fields.h"
#include "core/model/job.h"
#include "core/model/needs.h"
#include "wire/ask.h"

namespace spate::shepherd {

// A new field needs no new version: a peer that does not know it leaves it out. A change that a
// shepherd and its node's next program cannot ignore needs one. A node adopts shepherds of the
// versions from kOldestVersion on, which includes those of the release before, and newer ones that
// state in Adopted that it may.
inline constexpr uint8_t kProtocolVersion = 1;
inline constexpr uint8_t kOldestVersion = 1;

// The exit status of a shepherd that gave its orders back and left, since no process could be had
// for its tasks: it was one itself.
inline constexpr int kMadeRoom = 73;
inline constexpr uint32_t kMaxFrame = 64u << 20;  // bytes of one frame, without its length

// The first byte of a frame.
enum class FrameType : uint8_t {
  kSetup = 1,
  kOpenJob = 2,
  kStart = 3,
  kTakeBack = 4,
  kEnd = 5,
  kPause = 6,
  kTaken = 7,
  kLeave = 8,
  kCloseJob = 9,
  kFreeze = 10,
  kAsk = 12,
  kStarted = 65,
  kTakenBack = 66,
  kLiveOutput = 67,
  kMemorySample = 68,
  kAdopted = 70,
  kEnded = 71,
  kLeftRunning = 72,
  kUnclaimed = 73,
  kAnswer = 75,
  kFroze = 76,
  kExceeded = 78,
};

// The first order. Paths are absolute, or empty for none.
struct Setup {
  static constexpr auto kType = FrameType::kSetup;
  static constexpr bool kVersioned = true;  // the version stands in front of the fields
  uint16_t slot = 0;
  std::string spool_folder;  // where long output goes; must exist
  std::string cgroup;        // an empty cgroup v2 folder for the tasks of this slot
  std::string job_folder;    // becomes SPATE_JOB_DIR of every task
  uint64_t open_files = 0;   // soft limit of descriptors for tasks; 0: the shepherd's
  int32_t home_cpu = -1;     // the processor to stay on (tasks may leave it); -1: any
  std::string node_folder;   // of a node: where to wait for adoption (rendezvous.h). Empty: to end
                             // with the parent
  Duration adopt_patience;   // without a parent; then the attempt is ended
  std::string node_id;       // of a node: becomes SPATE_NODE_ID of every task
  bool can_visit = false;    // this program is one that serves visits (remote/visit.h)
  SPATE_FIELDS(1, slot, 2, spool_folder, 3, cgroup, 4, job_folder, 5, open_files, 6, home_cpu,
               7, node_folder, 8, adopt_patience, 9, node_id, 10, can_visit);
  friend bool operator==(const Setup&, const Setup&) = default;
};

// The user that tasks run as, when that is not the shepherd's own.
struct TaskUser {
  uint32_t user = 0;
  uint32_t group = 0;
  std::vector<uint32_t> groups;  // the supplementary ones
  std::string name;
  std::string home;
  std::string shell;
  SPATE_FIELDS(1, user, 2, group, 3, groups, 4, name, 5, home, 6, shell);
  friend bool operator==(const TaskUser&, const TaskUser&) = default;
};

// Common settings of the attempts of a job; before the first Start of it.
struct JobOpening {
  static constexpr unsigned kEnvironment = 3;
  static constexpr auto kType = FrameType::kOpenJob;
  JobId job;
  JobSettings settings;  // the node may leave out what bodies are made of; without `environment`
  std::vector<std::string> environment;  // NAME=value, on top of the shepherd's
  std::optional<TaskUser> user;          // empty: as the shepherd
  std::string task_folders;  // each attempt runs in a fresh folder below it; empty: in its cwd
  bool inherit = false;  // a `user`'s environment begins as the shepherd's, not as that of a login
  // Live output ends with what is kept in memory: the rest can be seen in the spool file.
  bool live_until_spooled = false;
  // The time at which the node ends what runs, in nanoseconds of CLOCK_MONOTONIC: the warning
  // signal comes so long before that, too. 0: nobody knows.
  uint64_t node_ends = 0;
  SPATE_FIELDS(1, job, 2, settings, kEnvironment, environment, 4, user, 5, task_folders, 6, inherit,
               7, live_until_spooled, 8, node_ends);
  friend bool operator==(const JobOpening&, const JobOpening&) = default;
};

// A Start as the sender has it.
struct Start {
  uint64_t sequence = 0;  // grows from order to order of one shepherd; see StartedSequence
  AttemptRef ref;
  uint16_t slot = 0;  // that the order names; another one's shepherd may run it
  bool tell_start = false;
  bool sample_memory = false;
  Needs needs;                    // its memory is the limit, 0 for none; the rest is the node's
  std::vector<NamedOffer> given;  // the node's, too
  bool is_part = false;           // of a gang; likewise
  std::optional<Duration> time_limit = {};  // the node's, in place of the job's
  SPATE_FIELDS(1, sequence, 2, ref, 3, slot, 4, tell_start, 5, sample_memory, 6, needs, 7, given,
               8, is_part, 9, time_limit);
  friend bool operator==(const Start&, const Start&) = default;
};

// A Start as the shepherd reads it: everything points into the frame, which must live as long.
// The vectors keep their memory from one order to the next.
struct StartView {
  struct CheckView {
    CheckKind kind;
    const char* file;
  };
  struct PutView {
    const char* name;
    uint32_t mode;
    const char* from;
  };
  struct CommandView {
    uint16_t step;            // rises by 0 or 1 from command to command
    uint16_t command;         // counts within the step
    uint32_t first;           // words[first] is argv[0]; a null pointer ends the argv
    uint32_t count;           // at least 1
    uint32_t first_variable;  // variables[first_variable] and so many from there are its own
    uint32_t variable_count;
  };
  Start start;
  const char* cwd = "";  // empty: the job's
  const char* stdin_file = "";
  const char* stdout_file = "";
  const char* stderr_file = "";
  bool late_stderr = false;
  std::vector<const char*> environment;
  std::vector<CheckView> checks;  // of CheckWhen::kOut only
  std::vector<PutView> puts;
  std::vector<const char*> gets;
  std::vector<const char*> words;
  std::vector<const char*> variables;
  std::vector<CommandView> commands;  // at least one
  // These are copies: few bodies have any.
  struct Surroundings {
    std::vector<Link> links;
    std::vector<ProcessLimit> limits;
    std::vector<uint16_t> cpus;
    std::vector<TaskForward> forwards;
    bool resident = false;
    std::string input;
    std::optional<uint32_t> first_rank;
    bool shares_files = false;
    static constexpr bool kLeavesOutZeros = true;
    SPATE_FIELDS(1, links, 2, limits, 3, cpus, 4, forwards, 5, resident, 6, input, 7, first_rank,
                 8, shares_files);
  } around;

  TaskBody ToBody() const;
};

struct Withdraw {
  static constexpr auto kType = FrameType::kTakeBack;
  AttemptRef ref;
  SPATE_FIELDS(1, ref);
  friend bool operator==(const Withdraw&, const Withdraw&) = default;
};
struct EndOrder {
  static constexpr auto kType = FrameType::kEnd;
  AttemptRef ref;
  bool kill = false;  // KILL to all in rounds; else TERM to the command's process group
  Cause cause = Cause::kStopped;
  SPATE_FIELDS(1, ref, 2, kill, 3, cause);
  friend bool operator==(const EndOrder&, const EndOrder&) = default;
};
struct Pause {
  static constexpr auto kType = FrameType::kPause;
  bool paused = false;
  SPATE_FIELDS(1, paused);
  friend bool operator==(const Pause&, const Pause&) = default;
};
// The end of this attempt need not be kept any more (a node's shepherd keeps it until then).
struct Taken {
  static constexpr auto kType = FrameType::kTaken;
  AttemptRef ref;
  SPATE_FIELDS(1, ref);
  friend bool operator==(const Taken&, const Taken&) = default;
};
// No Start of this job follows, and none is held.
struct CloseJob {
  static constexpr auto kType = FrameType::kCloseJob;
  JobId job;
  SPATE_FIELDS(1, job);
  friend bool operator==(const CloseJob&, const CloseJob&) = default;
};
// End what runs, and leave, though the node may come back.
struct LeaveOrder {
  static constexpr auto kType = FrameType::kLeave;
  SPATE_FIELDS();
  friend bool operator==(const LeaveOrder&, const LeaveOrder&) = default;
};

// The attempt in hand, if it is this one, stops where it is, with all its processes; or goes on.
struct Freeze {
  static constexpr auto kType = FrameType::kFreeze;
  AttemptRef ref;
  bool frozen = false;
  Instant stop;  // Froze has it again
  SPATE_FIELDS(1, ref, 2, frozen, 3, stop);
  friend bool operator==(const Freeze&, const Freeze&) = default;
};

// Asks about an attempt; Answers follow, after all reports about what happened before. Only for
// shepherds that know it (Adopted::answers).
struct Ask : wire::Ask {
  static constexpr auto kType = FrameType::kAsk;
};

using Order = std::variant<Setup, JobOpening, Withdraw, EndOrder, Pause, Taken, LeaveOrder,
                           CloseJob, Freeze, Ask>;
// True for a Start, for DecodeStart; all other orders are for DecodeOrder.
bool IsStart(std::string_view frame);
Result<Order> DecodeOrder(std::string_view frame);
Status DecodeStart(std::string_view frame, StartView& view);
// Only what is in front of the body, for orders that are held ahead.
Result<Start> DecodeStartHead(std::string_view frame);

// Reports. Times are os::MonotonicNanos() of this machine in place of an Instant.

struct Started {
  static constexpr auto kType = FrameType::kStarted;
  AttemptRef ref;
  int64_t when = 0;
  SPATE_FIELDS(1, ref, 2, when);
  friend bool operator==(const Started&, const Started&) = default;
};
struct TakenBack {
  static constexpr auto kType = FrameType::kTakenBack;
  AttemptRef ref;
  SPATE_FIELDS(1, ref);
  friend bool operator==(const TakenBack&, const TakenBack&) = default;
};
struct LiveOutput {
  static constexpr auto kType = FrameType::kLiveOutput;
  AttemptRef ref;
  uint8_t stream = 1;
  std::string_view bytes;  // points into the frame
  SPATE_FIELDS(1, ref, 2, stream, 3, bytes);
  friend bool operator==(const LiveOutput&, const LiveOutput&) = default;
};
struct MemorySample {
  static constexpr auto kType = FrameType::kMemorySample;
  AttemptRef ref;
  uint64_t bytes = 0;
  SPATE_FIELDS(1, ref, 2, bytes);
  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};
// The commands have ended, and what they left running is waited for.
struct LeftRunning {
  static constexpr auto kType = FrameType::kLeftRunning;
  AttemptRef ref;
  std::string processes;  // "sort (pid 12), cat (pid 13)"
  SPATE_FIELDS(1, ref, 2, processes);
  friend bool operator==(const LeftRunning&, const LeftRunning&) = default;
};
// All processes of the attempt stand still, as Freeze asked; or were let go.
struct Froze {
  static constexpr auto kType = FrameType::kFroze;
  AttemptRef ref;
  bool frozen = false;
  Instant stop;
  SPATE_FIELDS(1, ref, 2, frozen, 3, stop);
  friend bool operator==(const Froze&, const Froze&) = default;
};
// The attempt has used more than it asked for, and was stopped where that is what follows.
struct Exceeded {
  static constexpr auto kType = FrameType::kExceeded;
  AttemptRef ref;
  Excess excess;
  SPATE_FIELDS(1, ref, 2, excess);
  friend bool operator==(const Exceeded&, const Exceeded&) = default;
};
// A resident process has ended, and had written this much while it had no task. Never empty.
struct UnclaimedOutput {
  static constexpr auto kType = FrameType::kUnclaimed;
  JobId job;
  uint64_t bytes = 0;
  SPATE_FIELDS(1, job, 2, bytes);
  friend bool operator==(const UnclaimedOutput&, const UnclaimedOutput&) = default;
};
struct Answer : wire::AnswerPiece {
  static constexpr auto kType = FrameType::kAnswer;
};
struct Ended {
  static constexpr auto kType = FrameType::kEnded;
  AttemptEnd end;  // start counts as above
  TaskOutput output;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "end", self.end);
    visit(2, "out", self.output.out);
    visit(3, "err", self.output.err);
    visit(4, "files", self.output.files);
  }
};
// The streams as they lie in the collector, so that nothing is copied twice.
struct StreamView {
  std::string_view bytes;  // all of it when spool is empty
  std::string_view spool;
  uint64_t total = 0;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    OutputStream::Fields(self, visit);
  }
};
// An Ended as the shepherd has it.
struct EndedView {
  static constexpr auto kType = FrameType::kEnded;
  const AttemptEnd& end;
  struct {
    StreamView out, err, files;
  } output;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    Ended::Fields(self, visit);
  }
};
// The task of an adopted shepherd.
struct AdoptedTask {
  int64_t since = 0;  // its start
  Start start;
  JobSettings settings;          // of JobOpening
  Duration frozen;               // so long in all until now
  bool is_frozen = false;        // and still is
  std::optional<Excess> excess;  // because of this, with no order since
  SPATE_FIELDS(1, since, 2, start, 3, settings, 4, frozen, 5, is_frozen, 8, excess);
  friend bool operator==(const AdoptedTask&, const AdoptedTask&) = default;
};

// The first report to a node's process that adopts the shepherd. It is followed by one Ended for
// each end that was not taken yet.
struct Adopted {
  static constexpr auto kType = FrameType::kAdopted;
  static constexpr bool kVersioned = true;
  uint32_t ends = 0;
  std::optional<AdoptedTask> running;
  uint32_t adopters = 0;  // the oldest version that can adopt this shepherd; 0: its own alone
  bool answers = false;   // it knows Ask
  SPATE_FIELDS(1, ends, 2, running, 3, adopters, 5, answers);
  friend bool operator==(const Adopted&, const Adopted&) = default;
};

// Appends one whole frame to `out`: an order but a Start, or a report.
template <typename Message>
void Append(std::string& out, const Message& message);
// With `environment` in place of the job's.
void AppendOpenJob(std::string& out, const JobOpening& job,
                   const std::vector<std::string>& environment);
// An error, and nothing appended, when the body is too large for a frame, a text in it has a NUL,
// its links cannot be made, or no resident process, or no part of a gang, can have it.
Status AppendStart(std::string& out, const Start& start, const TaskBody& body);

using Report = std::variant<Started, TakenBack, LiveOutput, MemorySample, LeftRunning,
                            UnclaimedOutput, Answer, Ended, Adopted, Froze, Exceeded>;
Result<Report> DecodeReport(std::string_view frame);

// Cuts a stream of bytes into frames. Memory stays bounded by the largest frame and what Fill
// was asked to hold.
class FrameBuffer {
 public:
  // Room for at least `least` more bytes; write there, then say how many came.
  char* Room(size_t least);
  size_t room() const { return buffer_.size() - end_; }
  void Filled(size_t bytes) { end_ += bytes; }
  // The next whole frame without its length, valid until Room; an empty optional-like view with
  // data() == nullptr when there is none yet. kCorrupt when a length is over kMaxFrame.
  Result<std::string_view> Next();
  size_t pending() const { return end_ - begin_; }

 private:
  std::string buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace spate::shepherd
