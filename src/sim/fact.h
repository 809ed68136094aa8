// Facts: all that happens in a simulated world, as one stream. The trace prints them, the checkers
// (check_*.cc) judge them, and nobody else knows of both.
//
// Pointers are valid during the call that gets the fact.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "core/engine/engine.h"
#include "core/model/attempt.h"
#include "core/model/needs.h"
#include "core/provision/record.h"
#include "node/executor.h"
#include "store/sqlite/salvage.h"
#include "wire/client_messages.h"

namespace spate::sim {

struct LifeBegan {
  Epoch epoch;
  Duration clock_ahead = {};  // the hub's clock, of the world's
};
// The hub's clocks are ahead of the world's by so much, from now on.
struct ClockMoved {
  Duration steady, wall;
};
// The hub's process stands still for so long, alone or with its machine.
struct HubSuspended {
  Duration time;
  bool machine = false;
};
// A record came back from the disk; all of them come, in order, after LifeBegan.
struct Replayed {
  const engine::Record* record = nullptr;
};
struct ReplayDone {};
// A record is durable from now on, as the store says; nobody was told yet.
struct Committed {
  const engine::Record* record = nullptr;
  const TaskOutput* output = nullptr;  // of an AttemptEnded that wrote something
};
// The engine has decided on a record; it is under way to the disk.
struct Decided {
  const engine::Record* record = nullptr;
};
struct LifeEnded {
  bool clean = false;  // it ended by itself, with nothing left to tell
  uint64_t live_digest = 0;
  uint64_t replayed_digest = 0;  // of the disk, and then of what was not durable yet
};
struct NodeUp {
  NodeId node;
  const Offer* offer = nullptr;
};
// The hub and this node no longer hear each other. Attempts that still run there are orphaned.
struct NodeCut {
  NodeId node;
};
// An attempt begins to run.
struct Executed {
  NodeId node;
  const node::StartOrder* order = nullptr;
  bool orphan = false;
};
// A running attempt may use so much from now on.
struct AttemptChanged {
  NodeId node;
  AttemptRef ref;
  uint16_t slot = 0;
  const Needs* needs = nullptr;
};
// It runs no longer: by itself or by order (`end`), or because all around it was killed (null).
struct Over {
  NodeId node;
  AttemptRef ref;
  uint16_t slot = 0;
  const AttemptEnd* end = nullptr;
  const TaskOutput* output = nullptr;
};
// The processes of an attempt, or of a part, stand still from now on; or run on.
struct FrozenChanged {
  NodeId node;
  AttemptRef ref;
  bool frozen = false;
};
// Processes of it get a signal.
struct Signalled {
  NodeId node;
  AttemptRef ref;
  int32_t signal = 0;
};
// A hub asks a node something that the node alone knows.
struct NodeAsked {
  NodeId node;
};
struct Told {
  const engine::NoticeEnded* notice = nullptr;
  const TaskOutput* output = nullptr;
};
struct ToldHeld {
  engine::NoticeHeld notice;
};
struct ToldFinished {
  engine::NoticeFinished notice;
};
// A hub has acknowledged a submission to a person.
struct Acknowledged {
  enum class What : uint8_t { kAccepted, kGrown } what = What::kAccepted;
  JobId job;
  uint32_t total = 0;  // kGrown: so many tasks at least
};
// A hub is about to take somebody's question.
struct Asked {
  uint64_t id = 0;  // of this question, in all lives
  std::string_view user;
  const wire::Question* question = nullptr;
};
// It has said the last word of its answer; nobody has heard it yet.
struct Answered {
  uint64_t id = 0;
  const std::vector<std::string>* answers = nullptr;  // wire::BytesOf each
  const Error* error = nullptr;                       // null: it has answered
};
// Nothing of a job is on the disk any more.
struct Forgotten {
  JobId job;
};
// A hub tells somebody who follows a job of its ends.
struct EndsTold {
  uint64_t id = 0;  // of the request, as of Asked
  JobId job;
  uint64_t after = 0;  // as was asked
  const wire::EndsRead* read = nullptr;
};
// A machine's node has a channel to the hub (again), or has it no more.
struct NodeHeard {
  NodeId node;
};
struct NodeUnheard {
  NodeId node;
};
// The hub hears that a node has room for its part of a gang.
struct RoomHeard {
  NodeId node;
  AttemptRef ref;
};
// The node's process begins, or is gone; what it had not started is gone with it.
struct NodeProcess {
  NodeId node;
  bool began = false;
  bool all = false;  // it is gone with its machine: nothing is adopted, and no end kept
};
// A batch system has taken a pilot, whoever hears of it; the views are its tag and pool.
struct PilotQueued {
  std::string_view tag;
  std::string_view pool;
  uint32_t id = 0;
};
// It runs; again, when it was requeued (`over` false).
struct PilotRuns {
  uint32_t id = 0;
  bool runs = true;
};
struct PilotOver {
  uint32_t id = 0;
  std::string_view how;
};
// The batch system does not name it for longer than it ever should: it is nobody's fault if it is
// replaced.
struct PilotForgotten {
  uint32_t id = 0;
};
// Records of pools, as those of the engine.
struct PoolDecided {
  const provision::Record* record = nullptr;
};
struct PoolCommitted {
  const provision::Record* record = nullptr;
};
struct PoolReplayed {
  const provision::Record* record = nullptr;
};
struct PoolReplayDone {};
// Images that replace all records so far: told when they are decided, and when they are durable.
struct PoolsCut {
  const std::vector<provision::Record>* images = nullptr;
  bool durable = false;
};
// All work was done so long ago that pools must have come to rest.
struct PoolsDue {};
// A hub's memory and journal in figures, from time to time while it is up.
struct HubHolds {
  size_t pilot_nodes = 0;  // of pilots, in its memory
  size_t pools = 0;        // the same
  size_t pool_rows = 0;    // in its journal
  uint64_t log_lines = 0;  // of all lives
  size_t calls = 0;        // questions to nodes that are under way
  size_t call_bytes = 0;   // of their answers, so far
};
// The journal was checked after a life.
struct JournalChecked {
  const store::HubCheck* check = nullptr;
};
// For the trace alone: what the person and the faults do.
struct Remark {
  std::string_view text;
};
// Every job has finished and nothing is under way.
struct WorldDone {
  const engine::Engine* engine = nullptr;
};

using Fact = std::variant<LifeBegan, Replayed, ReplayDone, Committed, LifeEnded, NodeUp, NodeCut,
                          Executed, AttemptChanged, Over, Told, ToldHeld, ToldFinished, Remark,
                          WorldDone, Decided, Acknowledged, NodeHeard, NodeUnheard, NodeProcess,
                          PilotQueued, PilotRuns, PilotOver, PilotForgotten, PoolDecided,
                          PoolCommitted, PoolReplayed, PoolReplayDone, PoolsCut, PoolsDue, HubHolds,
                          RoomHeard, Asked, Answered, Forgotten, EndsTold, JournalChecked,
                          ClockMoved, HubSuspended, FrozenChanged, Signalled, NodeAsked>;
using FactSink = std::function<void(const Fact&)>;

}  // namespace spate::sim
