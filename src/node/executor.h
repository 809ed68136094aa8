// Executor: what runs attempts on this machine. `process` runs them under shepherds
// (node/process_executor.h); the simulator has a mock with the same events, limits and records.
//
// Slots: every order names a slot (from 1). A slot runs one attempt after another; a further
// order for a busy slot is held ahead and started by the slot itself when the first one ends, so
// that no round trip is lost. Events of a slot come in the order in which things happened.
// Thread: the loop's. Events come as calls of ExecutorEvents, never from inside Start/Stop/....
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/agent/agent.h"
#include "core/model/attempt.h"
#include "core/model/body.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/processes.h"
#include "wire/ask.h"

namespace spate::node {

struct StartOrder {
  AttemptRef ref;
  uint16_t slot = 0;
  TaskBody body;  // environment complete but for what the job's settings hold
  Needs needs;    // its memory is a limit, set on the slot's cgroup where there is one
  std::vector<NamedOffer> given;  // what the agent has given it
  bool tell_start = false;        // an OnStarted is wanted (time limits, long tasks)
  bool sample_memory = false;     // OnMemory about every 200 ms is wanted
  std::shared_ptr<const GangPart> part = nullptr;  // of a gang
  std::optional<Instant> freeze = {};              // it was stopped before something could start it
  std::optional<Duration> time_limit = {};  // in place of the job's, for the node's next process
};

// A running attempt's needs and processors from now on.
struct ResizeOrder {
  AttemptRef ref;
  uint16_t slot = 0;
  Needs needs;
  std::vector<NamedOffer> given;
  std::optional<Duration> time_limit = {};
  std::vector<int> cpus = {};  // all its processes run on these; none: they stay where they are
};

enum class EndHow : uint8_t {
  kTerm,  // TERM to the command's process group
  kKill,  // KILL to everything of the attempt, in rounds
};

class ExecutorEvents {
 public:
  virtual ~ExecutorEvents() = default;
  virtual void OnStarted(const AttemptRef& ref, Instant when) = 0;
  virtual void OnEnded(AttemptEnd end, TaskOutputPtr output) = 0;
  // The order was taken back before it started.
  virtual void OnTakenBack(const AttemptRef& ref) = 0;
  // Live output (JobSettings::live_output): whole chunks as they come. stream is 1 or 2.
  virtual void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) = 0;
  virtual void OnMemory(const AttemptRef& ref, uint64_t bytes) = 0;
  // Its commands have ended well, and what they left running is waited for: "sort (pid 12)".
  virtual void OnLeftRunning(const AttemptRef&, const std::string& /*processes*/) {}
  // All its processes stand still, as Freeze asked; or were let go.
  virtual void OnFrozen(const AttemptRef&, bool /*frozen*/, Instant /*stop*/) {}
  // It has used more than it asked for. Where that stops it, OnFrozen follows an order alone.
  virtual void OnExceeded(const AttemptRef&, const Excess&) {}
  // It has what Resize asks for, or (`refused`) why it has what it had.
  virtual void OnResized(const AttemptRef&, const std::string& /*refused*/) {}
};

// Asks what runs the attempt. `told` is called with each piece of the answer, whose `id` says
// nothing, now or later: never where what runs the attempt hangs, or the executor goes.
using AskRun = std::function<void(wire::Ask ask, std::function<void(wire::AnswerPiece)> told)>;

// An attempt in hand. Its processes are those below `root`, or `root` alone where the attempt runs
// inside that.
struct AttemptRoot {
  AttemptRef ref;
  int32_t root = 0;
  bool is_inside = false;
  bool is_part = false;  // of a gang
  friend bool operator==(const AttemptRoot&, const AttemptRoot&) = default;
};
// The processes of all attempts in hand; `told` is called with them now or later
// (process_list.h).
using ListedProcesses = std::map<AttemptRef, std::vector<ProcessFacts>>;
using ListProcesses = std::function<void(std::function<void(const ListedProcesses&)> told)>;

// Remains of an earlier process of this node: attempts that run on, whose ends will come as those
// of others do, and ends that the hub may not have.
struct AdoptedEnd {
  AttemptEnd end;
  TaskOutputPtr output;
};
struct Adopted {
  std::vector<agent::AttemptAdopted> running;
  std::vector<AdoptedEnd> ended;
  // Why shepherds were ended, with what they ran: sentences for the node's log.
  std::vector<std::string> problems;
};

// The jobs whose orders may come.
class OpenJobs {
 public:
  virtual ~OpenJobs() = default;
  // Before the first order of a job. Settings are shared and do not change. `inherits`: where its
  // tasks run as another user, their environment begins as the node's, not as that of a login.
  virtual void OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool inherits) = 0;
  // No order of the job is here, and none will come unless it is opened again.
  virtual void CloseJob(JobId job) = 0;
};

class Executor : public OpenJobs {
 public:
  virtual void Start(StartOrder order) = 0;
  // Takes back an order that has not started: OnTakenBack or, too late, OnEnded follows.
  virtual void Withdraw(const AttemptRef& ref) = 0;
  // Ends a running attempt; OnEnded follows, with `cause` where the end was not by itself. An
  // order that does not run (any more, or yet) is left alone.
  virtual void End(const AttemptRef& ref, EndHow how, Cause cause) = 0;
  // Stops (Ctrl-Z) or continues every process of every attempt.
  virtual void Pause(bool paused) = 0;
  // Stops one attempt where it is, or lets it go on; OnFrozen follows when that is so, with `stop`.
  // One that does not run (any more) is left alone. Never where the node has the feature
  // kInProgram.
  virtual void Freeze(const AttemptRef&, bool /*frozen*/, Instant /*stop*/) {}
  // Changes limits and processors of a running attempt, the only one of its slot. OnResized
  // follows, unless the attempt ends before. Never where the node lacks the feature kResizes.
  virtual void Resize(ResizeOrder /*order*/) {}
  // The hub has the end of this attempt: nobody need keep it for the case that this process dies.
  virtual void Taken(const AttemptRef&) {}
};

}  // namespace spate::node
