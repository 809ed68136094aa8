#include "doors/pmc/run/agent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/agent/cpu_packer.h"
#include "doors/pmc/run/talk.h"
#include "doors/pmc/run/task_row.h"
#include "link/channels.h"
#include "node/forwarder.h"
#include "node/node.h"
#include "node/process_executor.h"
#include "os/temp_dir.h"
#include "os/topology.h"

namespace spate::pmc {
namespace {

// What the original adds to the tasks of a host, between the node and its executor: what a task
// asks for is kept free for it and no limit (that is what --strict-limits is for), and tasks of
// several cpus are given cpus of their own, by number.
//
// A slot's next order may be there before its task has ended. It has the same needs, and takes over
// the slot's cpus.
class HostTasks final : public node::Executor, public node::ExecutorEvents {
 public:
  HostTasks(node::Executor& under, agent::CpuPacker packer, bool binds, const Talk& talk)
      : under_(under), packer_(std::move(packer)), binds_(binds), talk_(talk) {}
  void SetEvents(node::ExecutorEvents& events) { events_ = &events; }

  void OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool inherits) override {
    under_.OpenJob(job, std::move(settings), inherits);
  }
  void CloseJob(JobId job) override { under_.CloseJob(job); }
  void Start(node::StartOrder order) override {
    const uint32_t count = agent::UnitsToBind(order.needs.milli_cpus);
    order.needs.memory = 0;
    order.sample_memory = false;
    if (count > 0) GiveCpus(order, count);
    under_.Start(std::move(order));
  }
  void TakeBack(const AttemptRef& ref) override { under_.TakeBack(ref); }
  void End(const AttemptRef& ref, node::EndHow how, Cause cause) override {
    under_.End(ref, how, cause);
  }
  void Pause(bool paused) override { under_.Pause(paused); }
  void Freeze(const AttemptRef& ref, bool frozen) override { under_.Freeze(ref, frozen); }
  void Taken(const AttemptRef& ref) override { under_.Taken(ref); }

  void OnStarted(const AttemptRef& ref, Instant when) override { events_->OnStarted(ref, when); }
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override {
    TakeCpus(end.ref);
    events_->OnEnded(std::move(end), std::move(output));
  }
  void OnTakenBack(const AttemptRef& ref) override {
    TakeCpus(ref);
    events_->OnTakenBack(ref);
  }
  void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) override {
    events_->OnOutput(ref, stream, bytes);
  }
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override { events_->OnMemory(ref, bytes); }

 private:
  struct Slot {
    std::vector<int> cpus;
    uint32_t orders = 0;  // that have them
  };

  void GiveCpus(node::StartOrder& order, uint32_t count) {
    Slot& slot = slots_[order.slot];
    if (slot.orders == 0) {
      auto grant = packer_.Take(count);
      if (!grant) return;  // more is promised than there is: it runs where it may
      if (grant->split) {
        talk_.Say(LogLevel::kWarn, fmt::format("The {} cpus of a task are spread over the host: no "
                                               "better ones are free",
                                               count));
      }
      slot.cpus = std::move(grant->cpus);
    }
    if (slot.cpus.empty()) return;
    ++slot.orders;
    with_cpus_[order.ref] = order.slot;
    order.body.environment.push_back(fmt::format("PMC_AFFINITY={}", fmt::join(slot.cpus, ",")));
    if (binds_) order.body.cpus.assign(slot.cpus.begin(), slot.cpus.end());
  }

  void TakeCpus(const AttemptRef& ref) {
    auto found = with_cpus_.find(ref);
    if (found == with_cpus_.end()) return;
    Slot& slot = slots_[found->second];
    with_cpus_.erase(found);
    if (--slot.orders > 0) return;
    packer_.Give(slot.cpus);
    slot.cpus.clear();
  }

  node::Executor& under_;
  node::ExecutorEvents* events_ = nullptr;
  agent::CpuPacker packer_;
  const bool binds_;
  const Talk talk_;
  std::map<uint16_t, Slot> slots_;
  std::unordered_map<AttemptRef, uint16_t, AttemptRefHash> with_cpus_;  // their slots
};

// With --host-cpus a host is taken for one package without hyperthreads, as the original has it.
Topology TopologyOf(const Options& options, const Talk& talk) {
  if (options.host_cpus > 0) {
    std::vector<int> cpus(options.host_cpus);
    std::iota(cpus.begin(), cpus.end(), 0);
    return os::FlatTopology(cpus);
  }
  os::MachineTopology machine = os::ReadTopology();
  if (!machine.problem.empty()) talk.Say(LogLevel::kWarn, machine.problem);
  return std::move(machine.topology);
}

// As the original has it, for files. Pipes have no limit.
constexpr uint64_t kForwardedFileBytes = 1u << 20;

Offer OfferOf(const Options& options, const Host& host) {
  Offer offer;
  offer.node_name = host.facts.name;
  offer.slots = static_cast<uint32_t>(host.ranks.size());
  offer.milli_cpus = CpusOf(options, host) * kMilliCpu;
  offer.memory = MemoryOf(options, host) << 20;
  return offer;
}

}  // namespace

uint64_t MemoryOf(const Options& options, const Host& host) {
  return options.host_memory_mb > 0 ? options.host_memory_mb : host.facts.memory_mb;
}

uint32_t CpusOf(const Options& options, const Host& host) {
  return options.host_cpus > 0 ? options.host_cpus : host.facts.cpus;
}

Status ServeHost(os::RealLoop& loop, const Options& options, const Host& host, uint32_t number,
                 os::Fd stream) {
  os::TempDir spool;
  node::ProcessExecutorOptions with;
  with.slots = static_cast<uint16_t>(host.ranks.size());
  with.spool_folder = spool.path();
  auto executor = node::ProcessExecutor::Create(loop, std::move(with));
  if (!executor) return std::unexpected(std::move(executor.error()));
  const Talk talk(options.verbosity);
  os::TempDir forwards;
  node::Forwarder forwarder(loop, **executor, forwards.path(), kForwardedFileBytes);
  HostTasks tasks(forwarder, agent::CpuPacker(TopologyOf(options, talk), agent::Binding::kCore),
                  options.set_affinity, talk);
  node::Node::Parts parts{loop, tasks, nullptr};
  parts.dialects.Add(RowKind::kDagTask, MakeDialect(options, host.ranks));
  const NodeId id(number);
  node::Node node(id, OfferOf(options, host), std::move(parts));
  (*executor)->SetEvents(forwarder);
  forwarder.SetEvents(tasks);
  tasks.SetEvents(node);
  const auto expected = link::TypesFromHub(wire::Role::kNode);
  auto connection = std::make_unique<link::Connection>(loop, std::move(stream), nullptr, expected);
  connection->Start({});
  connection->Accept(expected);
  link::HubChannelTcp channel(std::move(connection),
                              {.closed = [&](const link::Ended&) { loop.Stop(); },
                               .silent = [](bool) {},
                               .backlogged = [&](bool is) { node.SetOutputBlocked(is); }});
  node.Connect(channel);
  loop.Run();
  node.Disconnect();
  return {};
}

}  // namespace spate::pmc
