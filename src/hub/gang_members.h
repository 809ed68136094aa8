// GangMembers: what parts of a gang are told of each other beside what the engine knows: where
// their nodes are reached, and a secret by which members know each other (docs/formats/remote.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes32.h"
#include "base/ids.h"
#include "core/model/attempt.h"
#include "core/model/gang.h"

namespace spate::hub {

class GangMembers {
 public:
  // Only the hub knows `key`. The same key gives the same secrets.
  void SetKey(std::string_view key);
  // A node says where it is reached; empty: nowhere.
  void Joined(NodeId node, const std::string& name, std::string remote);
  void Left(NodeId node);
  // The addresses of a node's lobby; empty: none that is known.
  std::string RemoteOf(const std::string& node) const;
  // The part with all of that. Null stays null.
  std::shared_ptr<const GangPart> Introduce(const AttemptRef& ref,
                                            std::shared_ptr<const GangPart> part) const;

 private:
  std::optional<Bytes32> key_;
  std::map<NodeId, std::string> names_;         // of nodes that have a remote
  std::map<std::string, std::string> remotes_;  // by name
};

}  // namespace spate::hub
