#include "doors/pmc/run/agent.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "core/agent/cpu_packer.h"
#include "doors/pmc/run/talk.h"
#include "doors/pmc/run/task_row.h"
#include "link/channels.h"
#include "node/cpu_binder.h"
#include "node/node.h"
#include "node/process_executor.h"
#include "os/batch_job.h"
#include "os/temp_dir.h"
#include "os/topology.h"

namespace spate::pmc {
namespace {

// What a task asks for is kept free for it and no limit (that is what --strict-limits is for).
class HostTasks final : public node::Executor {
 public:
  explicit HostTasks(node::Executor& under) : under_(under) {}

  void OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool inherits) override {
    under_.OpenJob(job, std::move(settings), inherits);
  }
  void CloseJob(JobId job) override { under_.CloseJob(job); }
  void Start(node::StartOrder order) override {
    order.needs.memory = 0;
    order.sample_memory = false;
    under_.Start(std::move(order));
  }
  void TakeBack(const AttemptRef& ref) override { under_.TakeBack(ref); }
  void End(const AttemptRef& ref, node::EndHow how, Cause cause) override {
    under_.End(ref, how, cause);
  }
  void Pause(bool paused) override { under_.Pause(paused); }
  void Freeze(const AttemptRef& ref, bool frozen) override { under_.Freeze(ref, frozen); }
  void Taken(const AttemptRef& ref) override { under_.Taken(ref); }

 private:
  node::Executor& under_;
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
  node::CpuBinder binder({.loop = loop,
                          .under = **executor,
                          .packer = {TopologyOf(options, talk), agent::Binding::kCore},
                          .variable = "PMC_AFFINITY",
                          .binds = options.set_affinity,
                          .on_split = [&](const AttemptRef&, uint32_t count) {
                            talk.Say(LogLevel::kWarn,
                                     fmt::format("The {} cpus of a task are spread over the host: "
                                                 "no better ones are free",
                                                 count));
                          }});
  HostTasks tasks(binder);
  node::Node::Parts parts{loop, tasks, nullptr};
  parts.dialects.Add(RowKind::kDagTask, MakeDialect(options, host.ranks));
  if (os::IsInBatchJob(os::Environment::OfProcess())) parts.doubt = node::kDoubtInBatchJobs;
  parts.doubt.stop_is_signal = true;  // only the first process hears of signals
  const NodeId id(number);
  node::Node node(id, OfferOf(options, host), std::move(parts));
  (*executor)->SetEvents(binder);
  binder.SetEvents(node);
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
