// SLURM_JOB_END_TIME comes with 23.02; older versions have none, and the script asks squeue for the
// time that is left. Of memory only --mem and --mem-per-cpu are told, in MB; 0 is all of the node.
#include "pool/slurm/grant.h"

#include <algorithm>

#include "pool/parts.h"

namespace spate::pool {
namespace {

constexpr int64_t kMostSeconds = 9'000'000'000;

Instant EndOf(const GrantInput& input, Instant otherwise) {
  if (auto end = input.Number("SLURM_JOB_END_TIME"); end && *end > 0 && *end < kMostSeconds) {
    return Instant{*end * 1'000'000'000};
  }
  auto started = input.Number("SPATE_PILOT_STARTED");
  // "30:00", "1-02:03:04", or "UNLIMITED"; below a minute "0:59".
  std::string text = input.environment.GetOr("SPATE_PILOT_LEFT", "");
  if (text == "UNLIMITED") return Instant::Never();
  auto left = ParseLimit(Trimmed(text), Duration::Seconds(60));
  if (!started || !left || *started >= kMostSeconds) return otherwise;
  return Instant{*started * 1'000'000'000} + *left;
}

std::optional<uint64_t> MemoryOf(const GrantInput& input, std::optional<int> cpus) {
  constexpr uint64_t kMb = 1 << 20;
  constexpr int64_t kMost = int64_t{1} << 32;
  auto node = input.Number("SLURM_MEM_PER_NODE"), cpu = input.Number("SLURM_MEM_PER_CPU");
  if (node && *node > 0 && *node < kMost) return static_cast<uint64_t>(*node) * kMb;
  if (!cpu || !cpus || *cpu == 0 || *cpu > kMost) return std::nullopt;
  return static_cast<uint64_t>(*cpu) * static_cast<uint64_t>(*cpus) * kMb;
}

}  // namespace

Grant GrantOfSlurm(const GrantInput& input) {
  Grant grant = input.Begin("slurm", "SLURM_JOB_ID");
  grant.host = input.environment.GetOr("SLURMD_NODENAME", "");
  grant.ends = EndOf(input, grant.ends);
  if (auto cpus = input.Number("SLURM_CPUS_ON_NODE"); cpus && *cpus > 0 && *cpus < 1'000'000) {
    grant.cpus = static_cast<int>(*cpus);
  }
  grant.memory = MemoryOf(input, grant.cpus);
  if (!grant.gpus) {
    std::string devices = input.environment.GetOr("SLURM_JOB_GPUS", "");
    std::string_view rest = devices;
    if (!devices.empty()) grant.gpus.emplace();
    while (!rest.empty()) grant.gpus->emplace_back(NextField(rest, ','));
  }
  auto nodes = input.Number("SLURM_JOB_NUM_NODES");
  if (!nodes) nodes = input.Number("SLURM_NNODES");
  if (!nodes || *nodes < 2 || *nodes > 100'000 || input.IsPart()) return grant;
  std::string count = std::to_string(*nodes);
  // All that the batch job has on each host, unbound; --overlap lets tasks use srun themselves.
  Launch launch{.host = "",
                .argv = {"srun", "--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1",
                         "--overlap", "--cpu-bind=none", "--mem=0", "--input=none", "--export=ALL",
                         "--kill-on-bad-exit=0", "--wait=0"}};
  Append(launch.argv, input.PartWords(std::nullopt));
  grant.launches.push_back(std::move(launch));
  return grant;
}

}  // namespace spate::pool
