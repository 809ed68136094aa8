// PBS tells neither the end nor the memory: the end is what the script counts with (Torque has
// PBS_WALLTIME). NCPUS is of the batch job's first chunk: with chunks of several sizes it is wrong
// for the others, so a pool asks for equal ones. A line of PBS_NODEFILE is a host, for each of its
// processes; "pbsdsh -n N" starts a command where the N-th line says, from 0.
#include "pool/pbs/grant.h"

#include <algorithm>

#include "pool/parts.h"

namespace spate::pool {

Grant GrantOfPbs(const GrantInput& input) {
  Grant grant = input.Begin("pbs", "PBS_JOBID");
  if (input.IsPart()) return grant;
  auto started = input.Number("SPATE_PILOT_STARTED"), wall = input.Number("PBS_WALLTIME");
  constexpr int64_t kMost = 4'000'000'000;
  if (grant.ends == Instant::Never() && started && wall && *started < kMost && *wall < kMost) {
    grant.ends = Instant{(*started + *wall) * 1'000'000'000};
  }
  for (std::string_view name : {"NCPUS", "PBS_NUM_PPN"}) {
    auto cpus = input.Number(name);
    if (!grant.cpus && cpus && *cpus > 0 && *cpus < 1'000'000) {
      grant.cpus = static_cast<int>(*cpus);
    }
  }
  std::vector<std::string> hosts;
  int line_number = 0;
  for (std::string_view line : WholeLines(input.File("PBS_NODEFILE"))) {
    std::string host(Trimmed(line));
    if (!host.empty() && std::ranges::find(hosts, host) == hosts.end()) {
      Launch launch;
      launch.host = host;
      if (!hosts.empty()) launch.argv = {"pbsdsh", "-n", std::to_string(line_number), "--"};
      Append(launch.argv, input.PartWords(grant.cpus));
      grant.launches.push_back(std::move(launch));
      hosts.push_back(std::move(host));
    }
    ++line_number;
  }
  if (hosts.size() < 2) grant.launches.clear();
  return grant;
}

}  // namespace spate::pool
