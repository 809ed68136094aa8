// A node from its first line to its last: of `spate node start`, and of paraNode.
//
//   TERM, INT   end the tasks, which run elsewhere then, and stop
//   QUIT        stop and leave the tasks to their shepherds, for the next node of this name
//   HUP         open the log file anew
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/main.h"
#include "cli/options/hub_options.h"
#include "client/surroundings.h"
#include "daemon/daemon_log.h"
#include "doors/parasol/site/site_node.h"

namespace spate::daemon {

struct NodeRun {
  cli::NodeOptions options;
  std::string folder;  // absolute, and there
  DaemonLife life;
  std::optional<parasol::SiteNode> site = std::nullopt;
};
// NAME@HOST below STATE/nodes: by host too, as the state folder may be on a file system of many
// machines. It is made. kBusy: a node of this machine's earlier name runs.
Result<std::string> MakeNodeFolder(const std::string& state, const std::string& name,
                                   const std::string& host);
// Lets the node run to its end; the exit code.
Result<int> RunNode(const client::Surroundings& here, NodeRun run);

int StartNode(const cli::Invocation& invocation);

}  // namespace spate::daemon
