// Provisioner: how many pilots each pool should have, as one deterministic state machine beside the
// engine (core/engine/engine.h) and of its kind: news in, records out, and asks that the shell
// carries out when the records are durable. State changes only in Apply. No clock, no I/O.
//
// A pilot's life: intended (durable) -> Submit, once -> its id is known (by the answer, or by its
// tag in a query) -> its first node joins -> it has ended. It is asked for at most once, so none is
// doubled; what becomes of an ask whose answer is lost is told by later queries. No single answer
// of a batch system ends a pilot but "it has ended", unless its last node took leave; and nothing
// does while a node of it is connected.
//
// Thread: one at a time. Cost: news costs by what it names; a query's answer, a change of a policy
// and what a first node of a pool shows cost by the pilots, or the classes of tasks, of that pool.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/model/limits.h"
#include "core/provision/record.h"
#include "core/provision/watch.h"

namespace spate::provision {

// ---- Events ------------------------------------------------------------------------------------

// Adds a pool (a number above all before), or changes its policy. PoolPolicy::CheckSound is for the
// shell.
struct SetPool {
  PoolId pool;
  PoolPolicy policy;
  // The batch system's options are others: forget what pilots showed of their nodes.
  bool learn_anew = false;
};
// Queued pilots are cancelled; running ones may end the tasks that they have.
struct RemovePool {
  PoolId pool;
};
// Pilots that are there stay.
struct PausePool {
  PoolId pool;
  std::string reason;
};
struct ResumePool {
  PoolId pool;
};
// Classes whose demand is another one than before; those with nothing ready may be left out of the
// first. Before the first one of a life no demand is known, and nothing is asked for or cancelled.
struct DemandChanged {
  std::vector<ClassDemand> classes;
};
struct SubmitAnswered {
  PoolId pool;
  PilotId pilot;
  std::string id;
};
enum class Failure : uint8_t {
  kRefused,      // something is wrong with what was asked for
  kLimit,        // no more for now, by a limit that the system states; no error
  kUnavailable,  // no answer, or none that says whether the job is there
};
struct SubmitFailed {
  PoolId pool;
  PilotId pilot;
  Failure failure = Failure::kRefused;
  std::string words;  // the command, and what it said
};
// A batch job that carries a tag of this hub.
struct BatchJob {
  PilotId pilot;  // by its tag; 0: not told, it is known by its id
  std::string id;
  JobStatus status = JobStatus::kOther;
  std::string words;  // why it waits ("Priority"), or how it ended, and what it wrote
  std::string host;   // on which it failed before it joined; empty: not known
};
struct QueryAnswered {
  PoolId pool;
  uint32_t query = 0;  // late answers are ignored
  std::vector<BatchJob> jobs;
};
struct QueryFailed {
  PoolId pool;
  uint32_t query = 0;
  std::string words;
};
struct CancelAnswered {
  PoolId pool;
  PilotId pilot;
  bool done = false;  // the batch system took it; that the pilot is gone a query tells
  std::string words;
};
// A node of a pilot has come, or come back. One whose pilot is gone is turned away.
struct NodeJoined {
  PilotId pilot;
  NodeId node;
  NodeShape shape;
  Instant end_of_life = Instant::Never();
};
// Its connection has ended, and it may come back. When all nodes of a pilot are silent, the batch
// system is asked, and only its word that the pilot has ended counts.
struct NodeSilent {
  PilotId pilot;
  NodeId node;
};
// It has ended, or was lost. One that is only silent still counts as connected.
struct NodeLeft {
  PilotId pilot;
  NodeId node;
  bool took_leave = false;  // it reported its end, or was told to end
};
struct NodeBusy {
  PilotId pilot;
  NodeId node;
};
struct NodeIdle {
  PilotId pilot;
  NodeId node;
  Instant since;
};
using Event = std::variant<SetPool, RemovePool, PausePool, ResumePool, DemandChanged,
                           SubmitAnswered, SubmitFailed, QueryAnswered, QueryFailed, CancelAnswered,
                           NodeJoined, NodeSilent, NodeLeft, NodeBusy, NodeIdle>;

// ---- Asks --------------------------------------------------------------------------------------

struct Submit {
  PoolId pool;
  PilotId pilot;
  std::vector<std::string> avoid;  // hosts that it should not run on
};
// Asks for the batch jobs with a tag of this hub, and the state of these ids. Every answer must be
// whole: a job that is not in it counts as unknown to the batch system.
struct Query {
  PoolId pool;
  uint32_t query = 0;
  std::vector<std::string> ids;
  std::vector<PilotId> pilots;  // pilots[i] has ids[i]
};
// Cancels a pilot that is to go, or a batch job that has a tag of ours and should not exist.
struct Cancel {
  PoolId pool;
  PilotId pilot;
  std::string id;
};
// Drain the pilot's nodes, and end them when they have nothing left. Asked again from time to time.
struct LetGo {
  PoolId pool;
  PilotId pilot;
};
// A node of a pilot that does not exist (any more) came.
struct TurnAway {
  PilotId pilot;
  NodeId node;
};
using Ask = std::variant<Submit, Query, Cancel, LetGo, TurnAway>;

struct Input {
  Instant now;
  std::span<const Event> events;
};
struct Output {
  std::vector<Record> records;  // durable BEFORE anything below leaves the process
  std::vector<Ask> asks;
  Instant wake_at = Instant::Never();  // call Step again then, if nothing happened before

  void Clear();
};

// ---- What people may ask -----------------------------------------------------------------------

struct PilotInfo {
  PilotId pilot;
  PoolId pool;
  std::string id;
  JobStatus status = JobStatus::kInit;  // as the newest query had it
  std::string words;                    // why it waits, or is to go
  uint32_t nodes = 0;                   // that are connected
  Instant intended;
  std::optional<Instant> joined;
  std::optional<Instant> idle;
  Instant end_of_life = Instant::Never();
  std::optional<Why> unwanted;
};
struct PoolInfo {
  PoolId pool;
  PoolPolicy policy;
  bool paused = false;
  bool closed = false;
  std::string words;  // why it is paused, or asks slowly
  NodeShape shape;    // as known by now
  uint32_t queued = 0;
  uint32_t joined = 0;
  uint32_t leaving = 0;
  uint32_t wanted = 0;               // beside those that have joined
  Instant next_submit;               // no earlier
  std::string trouble;               // of the newest query, when it failed
  std::vector<std::string> avoided;  // hosts that new pilots avoid
};

class Provisioner {
 public:
  explicit Provisioner(const Limits& limits = kLimits);
  ~Provisioner();
  Provisioner(const Provisioner&) = delete;
  Provisioner& operator=(const Provisioner&) = delete;

  // Replay: changes state and does nothing else. Also used by Step for what it decides.
  void Apply(const Record& record);
  bool Admits(const Record& record) const;  // for records that may be damaged
  PilotId last_pilot() const;               // the newest number
  // In place of all records so far; they must be durable.
  std::vector<Record> Images() const;
  // After replay, once, and before the first Step; also of a new machine.
  void Resume(Instant now, Output& out);
  // Decides on events at input.now. Appends to `out` (call Clear before).
  void Step(const Input& input, Output& out);

  std::vector<PoolInfo> Pools() const;
  std::vector<PilotInfo> Pilots(PoolId pool) const;
  std::optional<PoolInfo> Info(PoolId pool) const;
  // The number of the next pool.
  PoolId NextPool() const;
  // Why the pool asks for no pilot for such tasks; nullopt: it does. The pool exists.
  std::optional<Reason> WhyNot(PoolId pool, const TaskClass& of_tasks, std::string_view user) const;

  void CheckInvariants() const;
  uint64_t Digest() const;  // of what replay must reproduce

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace spate::provision
