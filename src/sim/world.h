// World: one simulated run, from its seed to its verdict, over all its lives.
//
// A life is a process: a loop in virtual time, a store that commits late, a hub, a person, and
// nodes with mock executors. It ends when its person leaves, when its store fails, or at the point
// where the faults kill it; then everything is gone but the disk, and the next life reads it.
//
// Single thread, no clock, no chance but the seed: the same options give the same facts.
#pragma once

#include <memory>
#include <vector>

#include "base/prng.h"
#include "hub/hub.h"
#include "node/node.h"
#include "os/fake_loop.h"
#include "sim/faults.h"
#include "sim/link.h"
#include "sim/mock_executor.h"
#include "sim/options.h"
#include "sim/person.h"
#include "sim/sabotage.h"
#include "sim/sim_store.h"
#include "sim/witness.h"
#include "sim/workload.h"

namespace spate::sim {

class World {
 public:
  // `print` gets every event as it happens; null: they are not printed.
  World(const Options& options, Sabotage sabotage, Printer print);
  WorldReport Run();

 private:
  struct SimNode {
    NodeId id;
    std::shared_ptr<LinkState> link;
    Link ends;
    std::unique_ptr<MockExecutor> executor;
    std::unique_ptr<node::Node> node;
  };
  // The order is that of their making; they are unmade backwards.
  struct Life {
    Life(Instant start, uint64_t crash_at) : loop(start), faults(crash_at) {}
    os::FakeLoop loop;
    Faults faults;
    std::unique_ptr<SimStore> store;
    std::unique_ptr<Person> person;
    std::unique_ptr<hub::Hub> hub;
    std::vector<SimNode> nodes;
  };

  void BeginLife();
  void LiveOn();
  void EndLife(bool clean);
  uint64_t ReplayedDigest();
  void BringUp(size_t index);
  void Cut(size_t index);
  void TakeDown(SimNode& node);
  void CheckInvariants();
  void Observe(const Fact& fact) { witness_.Observe(Now(), fact); }
  Duration Random(Duration most);
  Instant Now() const { return life_ == nullptr ? now_ : life_->loop.Now(); }

  const Options options_;
  const Sabotage sabotage_;
  const Workload workload_;
  Prng prng_;
  Witness witness_;
  WorldReport& report_;
  const std::shared_ptr<SimDisk> disk_;
  Person::Memory memory_;

  std::unique_ptr<Life> life_;
  Instant now_;  // between lives
  bool done_ = false;
  uint32_t crashes_left_;
  uint32_t store_failures_left_;
  uint32_t cuts_left_ = 60;
};

}  // namespace spate::sim
