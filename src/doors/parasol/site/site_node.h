// paraNode: a node of a site (doors/parasol/programs/site_programs.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/surroundings.h"
#include "doors/parasol/programs/site_programs.h"
#include "doors/parasol/row/parasol_dialect.h"
#include "doors/parasol/site/node_kit.h"

namespace spate::parasol {

// The command line, and where it was typed.
struct ParaNodeStart {
  ParaNodeOptions options;
  client::Surroundings here;
  std::string name;  // of the node
};
Result<ParaNodeStart> ReadParaNode(std::span<const std::string> args);

// Settings that only a site's node has.
struct SiteNode {
  std::optional<NodeKit> kit;       // from paraNodeStart; else it looks for a hub as others do
  std::optional<os::Address> hub;   // in place of the access's
  std::vector<os::Address> listen;  // its port
  NodeTasks tasks;
  std::string temp_dir;  // absolute
  Duration keep_errors;  // files of stderr in it
};
// `folder` is the node's.
Result<SiteNode> MakeSiteNode(const ParaNodeStart& start, const std::string& folder);

}  // namespace spate::parasol
