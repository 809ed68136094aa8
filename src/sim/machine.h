// Machine: one machine of a simulated hub: a process with the real node::Node, and its shepherds (a
// MockExecutor), which may outlive it and are adopted by the next one.
#pragma once

#include <memory>

#include "base/prng.h"
#include "node/node.h"
#include "os/loop.h"
#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/link.h"
#include "sim/mock_executor.h"
#include "sim/options.h"
#include "sim/sabotage.h"
#include "sim/workload.h"

namespace spate::sim {

// Free resources of a machine, at random; null when nobody needs them.
std::function<MachineLoad()> LoadOf(const Options& options, uint64_t seed);

class Machine {
 public:
  struct Parts {
    os::Loop& loop;
    const Options& options;
    const Workload& workload;
    FactSink sink;
    Sabotage sabotage = Sabotage::kNone;
    Duration tell_every = {};  // how it is; zero: never
  };
  Machine(Parts parts, NodeId id, Offer offer, uint64_t seed);

  NodeId id() const { return id_; }
  const Offer& offer() const { return offer_; }
  bool up() const { return node_ != nullptr; }
  bool dead() const { return faults_ != nullptr && faults_->dead(); }
  bool connected() const { return connected_; }
  bool idle() const { return executor_ == nullptr || executor_->Idle(); }
  node::Node& node() { return *node_; }
  LinkSide side() { return {parts_.loop, *faults_}; }

  // The process begins, and dies at its `crash_at`-th point (0: never).
  void Start(uint64_t crash_at);
  // It is gone; with `all` its shepherds too.
  void End(bool all);
  // It ends its tasks, and then says goodbye to the hub, if one is heard.
  void Leave(node::HubChannel* hub);
  void Connect(node::HubChannel& channel);
  void Disconnect();

 private:
  Parts parts_;
  const NodeId id_;
  const Offer offer_;
  Prng prng_;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<MockExecutor> executor_;
  MockExecutor::KeptEnds left_;  // on the disk, when the last process left
  std::unique_ptr<node::Node> node_;
  bool connected_ = false;
};

}  // namespace spate::sim
