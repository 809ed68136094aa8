#include "sim/machine.h"

#include <utility>

#include "base/check.h"

namespace spate::sim {

std::function<MachineLoad()> LoadOf(const Options& options, uint64_t seed) {
  if (!options.load_bound) return nullptr;
  return [prng = std::make_shared<Prng>(seed)] {
    constexpr uint64_t kGigabyte = 1ull << 30;
    return MachineLoad{prng->Below(3) * kGigabyte, static_cast<double>(prng->Below(8))};
  };
}

// Room on the second node's disk: full for 20 s of 40.
std::function<std::string()> RoomOf(const Options& options, const os::Loop& loop, NodeId id) {
  if (!options.full_disk || id != NodeId(2)) return nullptr;
  return [&loop] { return loop.Now().ns / 20'000'000'000 % 2 == 0 ? "its disk is full" : ""; };
}

Machine::Machine(Parts parts, NodeId id, Offer offer, uint64_t seed)
    : parts_(std::move(parts)), id_(id), offer_(std::move(offer)), prng_(seed) {}

void Machine::Start(uint64_t crash_at) {
  CHECK(!up());
  faults_ = std::make_unique<Faults>(crash_at);
  if (!executor_) {
    parts_.sink(NodeUp{id_, &offer_});
    executor_ = std::make_unique<MockExecutor>(
        MockExecutor::Parts{parts_.loop, parts_.workload, parts_.sink, id_, offer_.slots,
                            parts_.options.executor_latency, prng_.Next(), parts_.sabotage},
        std::exchange(left_, {}));
  }
  node_ = std::make_unique<node::Node>(
      id_, offer_,
      node::Node::Parts{.loop = parts_.loop,
                        .executor = *executor_,
                        .sample_load = LoadOf(parts_.options, prng_.Next()),
                        .tell_every = parts_.tell_every,
                        .ask_run =
                            [executor = executor_.get()](const wire::Ask& ask, auto answered) {
                              executor->Answer(ask, std::move(answered));
                            },
                        .list_processes = [executor = executor_.get()](
                                              const auto& listed) { executor->List(listed); },
                        .no_room = RoomOf(parts_.options, parts_.loop, id_),
                        .watches_room = true},
      parts_.options.limits());
  parts_.sink(NodeProcess{id_, true});
  executor_->Attach(*faults_, *node_);
  node_->Adopt(executor_->Adopt());
}

void Machine::End(bool all) {
  if (faults_) faults_->Die();
  connected_ = false;
  if (node_) parts_.sink(NodeProcess{id_, false, all});
  if (all && executor_) executor_->KillAll();
  if (executor_) executor_->Detach();
  node_ = nullptr;
  faults_ = nullptr;
  if (all) executor_ = nullptr;
}

void Machine::Leave(node::HubChannel* hub) {
  parts_.sink(NodeProcess{id_, false, true});
  wire::Ends cut_off;
  if (node_ && hub != nullptr) cut_off = node_->CutOff("it was asked to");
  node_ = nullptr;
  executor_->KillAll();
  left_ = executor_->kept();
  executor_ = nullptr;  // it starts nothing more, though the process may yet be killed
  if (hub == nullptr) return;
  if (!cut_off.ends.empty()) hub->Send(std::move(cut_off));
  hub->Send(wire::Leaving{});
}

void Machine::Connect(node::HubChannel& channel) {
  connected_ = true;
  node_->Connect(channel);
}

void Machine::Disconnect() {
  connected_ = false;
  node_->Disconnect();
}

}  // namespace spate::sim
