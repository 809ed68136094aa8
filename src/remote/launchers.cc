#include "remote/launchers.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "remote/ticket.h"

namespace spate::remote {

bool HasServer(const GangPart& part) {
  const bool calls = part.start != GangShape::Start::kEach || part.meets != GangPart::Meets::kNot;
  return calls && part.secret.size() == sizeof(Bytes32);
}

bool SharesMachine(const GangPart& part) {
  std::set<std::string> seen;
  for (const GangHost& host : part.hosts) {
    auto lobbies = ParseLobbies(host.remote);
    if (!lobbies || lobbies->empty()) continue;
    // One that is reached from its own machine only has all that it can meet there.
    auto number = os::SocketAddress::Numeric(lobbies->front());
    const bool is_loopback = number && *number && (*number)->IsThisMachine();
    if (is_loopback && part.hosts.size() > 1) return true;
    if (!seen.insert(lobbies->front().host).second) return true;
  }
  return false;
}

std::vector<std::string> LauncherVariables(const GangPart& part, const LauncherFiles& files,
                                           const std::vector<std::string>& own) {
  std::vector<std::string> variables = {
      "SPATE_RSH=" + files.agent,
      // Open MPI to version 4. Only the first node has the path of this agent, so it starts all
      // daemons itself; names are the nodes' whole names; no batch system around us is asked.
      "OMPI_MCA_plm=rsh",
      "OMPI_MCA_plm_rsh_agent=" + files.agent,
      "OMPI_MCA_plm_rsh_no_tree_spawn=1",
      "OMPI_MCA_orte_default_hostfile=" + files.hosts,
      "OMPI_MCA_orte_keep_fqdn_hostnames=1",
      // From version 5 on, as PRRTE names them.
      "PRTE_MCA_plm=ssh",
      "PRTE_MCA_plm_ssh_agent=" + files.agent,
      "PRTE_MCA_plm_ssh_no_tree_spawn=1",
      "PRTE_MCA_prte_default_hostfile=" + files.hosts,
      "PRTE_MCA_prte_keep_fqdn_hostnames=1",
      "HYDRA_LAUNCHER=ssh",
      "HYDRA_LAUNCHER_EXEC=" + files.agent,
      "HYDRA_HOST_FILE=" + files.machines,
  };
  if (SharesMachine(part)) {
    // Open MPI takes processes of one machine for those of one node, and names their shared memory
    // by their place on the node: two of one name damage each other. Who names transports knows.
    constexpr std::string_view kTransports = "OMPI_MCA_btl=";
    auto names_them = [&](const std::string& each) { return each.starts_with(kTransports); };
    if (std::ranges::none_of(own, names_them)) {
      variables.push_back(std::string(kTransports) + "^vader,sm");
    }
    // Its daemons damage each other by a folder in TMPDIR that has the job's name alone: each maps
    // there a file that the other one writes anew, and one is killed by that now and then. The
    // job's TMPDIR is the submitter's as a rule, and the same for all parts.
    variables.push_back("TMPDIR=" + files.temporary);
  }
  return variables;
}

}  // namespace spate::remote
