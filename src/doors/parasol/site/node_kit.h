// NodeKit: what a node needs of its site: how it reaches the hub, and who it is at a port of its
// own, where the site's administrator asks it while there is no hub. The bytes are in
// docs/formats/access.md.
#pragma once

#include <string>
#include <string_view>

#include "access/access_file.h"
#include "base/result.h"
#include "transport/tcp/identity.h"

namespace spate::parasol {

struct NodeKit {
  access::Access hub;
  // The administrator's to this node's port: its pin is that of `key`.
  access::Access port;
  std::string key;  // PEM, transport::Identity
};

// A key and an access to its port for one node; `hub` is every node's.
Result<NodeKit> MakeNodeKit(const access::Access& hub, const os::Address& port);
std::string FormatNodeKit(const NodeKit& kit);
// `name` is for errors.
Result<NodeKit> ParseNodeKit(std::string_view text, std::string_view name);

// The file must be private.
Result<NodeKit> LoadNodeKit(const std::string& path);
Status SaveNodeKit(const std::string& path, const NodeKit& kit);

}  // namespace spate::parasol
