// Facts: all that happens in a simulated world, as one stream. The trace prints them, the checkers
// (check_*.cc) judge them, and nobody else knows of both.
//
// Pointers are valid during the call that gets the fact.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "core/engine/engine.h"
#include "core/model/attempt.h"
#include "core/model/needs.h"
#include "node/executor.h"

namespace spate::sim {

struct LifeBegan {
  Epoch epoch;
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
struct LifeEnded {
  bool clean = false;  // it ended by itself, with nothing left to tell
  uint64_t live_digest = 0;
  uint64_t replayed_digest = 0;  // of the disk, and then of what was not durable yet
};
struct NodeUp {
  NodeId node;
  const Offer* offer = nullptr;
};
// The hub and this node no longer hear each other. What still runs there is orphaned.
struct NodeCut {
  NodeId node;
};
// An attempt begins to run.
struct Executed {
  NodeId node;
  const node::StartOrder* order = nullptr;
  bool orphan = false;
};
// It runs no longer: by itself or by order (`end`), or because all around it was killed (null).
struct Over {
  NodeId node;
  AttemptRef ref;
  uint16_t slot = 0;
  const AttemptEnd* end = nullptr;
  const TaskOutput* output = nullptr;
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
// For the trace alone: what the person and the faults do.
struct Remark {
  std::string_view text;
};
// Every job has finished and nothing is under way.
struct WorldDone {
  const engine::Engine* engine = nullptr;
};

using Fact = std::variant<LifeBegan, Replayed, ReplayDone, Committed, LifeEnded, NodeUp, NodeCut,
                          Executed, Over, Told, ToldHeld, ToldFinished, Remark, WorldDone>;
using FactSink = std::function<void(const Fact&)>;

}  // namespace spate::sim
