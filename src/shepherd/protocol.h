// What a shepherd and its parent say to each other, over a stream socket of one machine.
//
// Orders go to the shepherd, reports come from it. Both sides are the same program file, so there
// is one version and the bytes are in the machine's order; see docs/formats/shepherd.md for the
// grammar. Decoders take any bytes and return kCorrupt for what they do not understand.
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
#include "core/model/needs.h"

namespace spate::shepherd {

inline constexpr uint8_t kProtocolVersion = 4;

// The exit status of a shepherd that gave its orders back and left, since no process could be had
// for its tasks: it was one itself.
inline constexpr int kMadeRoom = 73;
inline constexpr uint32_t kMaxFrame = 64u << 20;  // bytes of one frame, without its length

// The first order. Paths are absolute, or empty for none.
struct Setup {
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
  friend bool operator==(const Setup&, const Setup&) = default;
};

// Whom tasks run as, when that is not the shepherd's own user.
struct TaskUser {
  uint32_t user = 0;
  uint32_t group = 0;
  std::vector<uint32_t> groups;  // the supplementary ones
  std::string name;
  std::string home;
  std::string shell;
  friend bool operator==(const TaskUser&, const TaskUser&) = default;
};

// What ends an attempt early. The node sees to it; the shepherd tells it to the next one.
struct JobLimits {
  Duration time_limit;
  uint32_t time_limit_percent = 0;
  Duration warn_time;
  Duration kill_grace;
  friend bool operator==(const JobLimits&, const JobLimits&) = default;
};

// What the attempts of a job share; before the first Start of it.
struct JobOpening {
  JobId job;
  std::string cwd;
  std::vector<std::string> environment;  // NAME=value, on top of the shepherd's
  int32_t nice = 0;
  bool measure_io = false;
  bool live_output = false;
  Duration check_patience;
  JobLimits limits;
  int32_t umask = -1;            // -1: the shepherd's
  std::optional<TaskUser> user;  // empty: as the shepherd
  std::string task_folders;      // each attempt runs in a fresh folder below it; empty: in `cwd`
  bool inherit = false;  // a `user`'s environment begins as the shepherd's, not as that of a login
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
    uint16_t step;     // rises by 0 or 1 from command to command
    uint16_t command;  // counts within the step
    uint32_t first;    // words[first] is argv[0]; a null pointer ends the argv
    uint32_t count;    // at least 1
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
  std::vector<CommandView> commands;  // at least one

  TaskBody ToBody() const;
};

struct TakeBack {
  AttemptRef ref;
  friend bool operator==(const TakeBack&, const TakeBack&) = default;
};
struct EndOrder {
  AttemptRef ref;
  bool kill = false;  // KILL to all in rounds; else TERM to the command's process group
  Cause cause = Cause::kStopped;
  friend bool operator==(const EndOrder&, const EndOrder&) = default;
};
struct Pause {
  bool paused = false;
  friend bool operator==(const Pause&, const Pause&) = default;
};
// The end of this attempt need not be kept any more (a node's shepherd keeps it until then).
struct Taken {
  AttemptRef ref;
  friend bool operator==(const Taken&, const Taken&) = default;
};
// No Start of this job follows, and none is held.
struct CloseJob {
  JobId job;
  friend bool operator==(const CloseJob&, const CloseJob&) = default;
};
// End what runs, and leave, though the node may come back.
struct LeaveOrder {
  friend bool operator==(const LeaveOrder&, const LeaveOrder&) = default;
};

enum class OrderType : uint8_t {
  kSetup = 1,
  kOpenJob = 2,
  kStart = 3,
  kTakeBack = 4,
  kEnd = 5,
  kPause = 6,
  kTaken = 7,
  kLeave = 8,
  kCloseJob = 9,
};

// Each appends one whole frame to `out`.
void AppendSetup(std::string& out, const Setup& setup);
// With `environment` in place of the job's.
void AppendOpenJob(std::string& out, const JobOpening& job,
                   const std::vector<std::string>& environment);
// False, and nothing appended, when the body is too large for a frame or a text in it has a NUL.
[[nodiscard]] bool AppendStart(std::string& out, const Start& start, const TaskBody& body);
void AppendTakeBack(std::string& out, const TakeBack& order);
void AppendEnd(std::string& out, const EndOrder& order);
void AppendPause(std::string& out, const Pause& order);
void AppendTaken(std::string& out, const Taken& order);
void AppendLeave(std::string& out);
void AppendCloseJob(std::string& out, const CloseJob& order);

using Order =
    std::variant<Setup, JobOpening, TakeBack, EndOrder, Pause, Taken, LeaveOrder, CloseJob>;
// The type of a frame's content, which is not checked otherwise. 0 for an empty frame.
uint8_t TypeOf(std::string_view frame);
Result<Order> DecodeOrder(std::string_view frame);  // all but kStart
Status DecodeStart(std::string_view frame, StartView& view);
// Only what is in front of the body, for orders that are held ahead.
Result<Start> DecodeStartHead(std::string_view frame);

// Reports. Times are os::MonotonicNanos() of this machine in place of an Instant.
struct Started {
  AttemptRef ref;
  int64_t when = 0;
  friend bool operator==(const Started&, const Started&) = default;
};
struct TakenBack {
  AttemptRef ref;
  friend bool operator==(const TakenBack&, const TakenBack&) = default;
};
struct LiveOutput {
  AttemptRef ref;
  uint8_t stream = 1;
  std::string_view bytes;  // points into the frame
  friend bool operator==(const LiveOutput&, const LiveOutput&) = default;
};
struct MemorySample {
  AttemptRef ref;
  uint64_t bytes = 0;
  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};
struct Ended {
  AttemptEnd end;  // start counts as above
  TaskOutput output;
};
// The first report to a node's process that adopts the shepherd. It is followed by one Ended for
// each end that was not taken yet.
struct Adopted {
  struct Running {
    int64_t since = 0;  // its start
    Start start;
    JobLimits limits;
    friend bool operator==(const Running&, const Running&) = default;
  };
  uint32_t ends = 0;
  std::optional<Running> running;
  friend bool operator==(const Adopted&, const Adopted&) = default;
};

enum class ReportType : uint8_t {
  kStarted = 65,
  kTakenBack = 66,
  kLiveOutput = 67,
  kMemorySample = 68,
  kEnded = 69,
  kAdopted = 70,
};

void AppendStarted(std::string& out, const Started& report);
void AppendTakenBack(std::string& out, const TakenBack& report);
void AppendLiveOutput(std::string& out, const LiveOutput& report);
void AppendMemorySample(std::string& out, const MemorySample& report);
// The streams as they lie in the collector, so that nothing is copied twice.
struct StreamView {
  std::string_view bytes;  // all of it when spool is empty
  std::string_view spool;
  uint64_t total = 0;
};
void AppendEnded(std::string& out, const AttemptEnd& end, const StreamView& stdout_stream,
                 const StreamView& stderr_stream, const StreamView& files = {});
void AppendAdopted(std::string& out, const Adopted& report);

using Report = std::variant<Started, TakenBack, LiveOutput, MemorySample, Ended, Adopted>;
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
