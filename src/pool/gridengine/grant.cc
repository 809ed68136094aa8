// Grid Engine tells neither the end nor the memory: the end is what the script counts with. A line
// of PE_HOSTFILE is "HOST SLOTS QUEUE@HOST PROCESSORS"; a host has one for each queue, and the
// batch job's own host is the first. Without a parallel environment it has one slot.
//
// qrsh gives its words to the shell of the user on the other host. The first host's node is started
// without it: a slot for qrsh may be missing there (job_is_first_task).
#include "pool/gridengine/grant.h"

#include <algorithm>

#include "base/number.h"
#include "pool/parts.h"

namespace spate::pool {
namespace {

struct Host {
  std::string name;
  int slots = 0;
};

std::vector<Host> HostsOf(std::string_view text) {
  std::vector<Host> hosts;
  for (std::string_view line : WholeLines(text)) {
    std::string_view name = NextField(line, ' ');
    auto slots = ReadNumber<int>(NextField(line, ' '));
    if (name.empty() || !slots || *slots < 1 || *slots > 1'000'000) continue;
    auto host = std::ranges::find(hosts, name, &Host::name);
    if (host == hosts.end()) {
      hosts.push_back({std::string(name), *slots});
    } else {
      host->slots = std::min(host->slots + *slots, 1'000'000);
    }
  }
  return hosts;
}

}  // namespace

Grant GrantOfGridEngine(const GrantInput& input) {
  Grant grant = input.Begin("gridengine", "JOB_ID");
  if (input.IsPart()) return grant;
  std::vector<Host> hosts = HostsOf(input.File("PE_HOSTFILE"));
  auto slots = input.Number("NSLOTS");
  if (!hosts.empty()) {
    grant.cpus = hosts[0].slots;
  } else if (slots && *slots > 0 && *slots < 1'000'000) {
    grant.cpus = static_cast<int>(*slots);
  }
  if (hosts.size() < 2) return grant;
  for (const Host& host : hosts) {
    Launch launch;
    launch.host = host.name;
    if (!grant.launches.empty()) {
      launch.argv = {"qrsh", "-inherit", "-nostdin", host.name};
      launch.quoted = true;
    }
    Append(launch.argv, input.PartWords(host.slots));
    grant.launches.push_back(std::move(launch));
  }
  return grant;
}

}  // namespace spate::pool
