#include "doors/pmc/run/agent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <utility>

#include "doors/pmc/run/talk.h"
#include "doors/pmc/run/task_row.h"
#include "node/host.h"
#include "os/affinity.h"
#include "os/batch_job.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/temp_dir.h"
#include "os/topology.h"

namespace spate::pmc {
namespace {

// With --host-cpus a host is taken for one package without hyperthreads, as the original has it.
Topology TopologyOf(const Options& options, const Talk& talk) {
  if (options.host_cpus > 0) {
    std::vector<int> cpus(options.host_cpus);
    std::iota(cpus.begin(), cpus.end(), 0);
    return os::FlatTopology(cpus);
  }
  os::MachineTopology machine = os::ReadTopology();
  if (!machine.problem.empty()) talk.Log(LogLevel::kWarn, machine.problem);
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

// Tasks could not start on processors that this process may not give: where a launcher has put each
// worker into a group of its own.
void KeepPossibleCpus(std::vector<SlotSurroundings>& slots, const Talk& talk) {
  const os::CpuMask own = os::AllowedCpus();
  for (size_t i = 0; i < slots.size(); ++i) {
    std::vector<uint16_t>& cpus = slots[i].cpus;
    if (cpus.empty() || os::SetAllowedCpus(os::CpuMask::Of({cpus.begin(), cpus.end()}))) continue;
    talk.Log(LogLevel::kWarn,
             fmt::format("The tasks of worker {} of this host cannot have its processors {}; they "
                         "have those of its first worker",
                         i + 1, fmt::join(cpus, ",")));
    cpus.clear();
  }
  (void)os::SetAllowedCpus(own);
}

}  // namespace

uint64_t MemoryOf(const Options& options, const Host& host) {
  return options.host_memory_mb > 0 ? options.host_memory_mb : host.facts.memory_mb;
}

uint32_t CpusOf(const Options& options, const Host& host) {
  return options.host_cpus > 0 ? options.host_cpus : host.facts.cpus;
}

std::string HandoverFolder(const std::string& handover, uint32_t number) {
  return os::JoinPath(handover, fmt::format("{}", number));
}

std::string SpoolPrefix(const Options& options) { return options.dag + ".spool"; }

namespace {

// Else this one might have room for output where the first process has none.
bool AreOnOneFileSystem(const std::string& folder, const std::string& other) {
  auto one = os::Stat(folder);
  auto two = os::Stat(other);
  return one && two && one->device == two->device;
}

}  // namespace

Status ServeHost(os::RealLoop& loop, const Options& options, const Host& host, uint32_t number,
                 std::vector<SlotSurroundings> slots, os::Fd stream, const std::string& handover) {
  os::TempDir spool(SpoolPrefix(options));
  const bool may_share = !handover.empty() && AreOnOneFileSystem(handover, spool.path());
  const std::string shared = may_share ? HandoverFolder(handover, number) : "";
  const bool shares =
      !shared.empty() && os::OpenDirBelow(handover, fmt::format("{}", number)).has_value();
  const Talk talk(options.verbosity);
  KeepPossibleCpus(slots, talk);
  node::ProcessExecutorOptions tasks;
  tasks.spool_folder = shares ? shared : spool.path();
  tasks.live_until_spooled = shares;
  tasks.limits_memory = false;  // --strict-limits makes it one
  node::HostOptions with{.id = NodeId(number),
                         .offer = OfferOf(options, host),
                         .tasks = std::move(tasks),
                         .cpus = node::HostOptions::Cpus{
                             .packer = {TopologyOf(options, talk), agent::Binding::kCore},
                             .variable = "PMC_AFFINITY",
                             .binds = options.set_affinity,
                             .on_split = [&](const AttemptRef&, uint32_t count) {
                               talk.Log(LogLevel::kWarn,
                                        fmt::format("The {} cpus of a task are spread over the "
                                                    "host: no better ones are free",
                                                    count));
                             }}};
  with.dialects.Add(RowKind::kDagTask, MakeDialect(options, host.ranks, std::move(slots)));
  if (os::IsInBatchJob(os::Environment::OfProcess())) with.doubt = node::kDoubtInBatchJobs;
  with.doubt.stop_is_signal = true;  // only the first process hears of signals
  auto node = TRY(node::Host::Open(loop, std::move(with)));
  const auto expected = link::TypesFromHub(wire::Role::kNode);
  auto connection = std::make_unique<link::Connection>(loop, std::move(stream), nullptr, expected);
  connection->Start({});
  connection->Accept(expected);
  node->Connect(std::move(connection), [&](const link::Ended&) { loop.Stop(); });
  if (shares) node->channel()->SetHandover(shared);
  loop.Run();
  return {};
}

}  // namespace spate::pmc
