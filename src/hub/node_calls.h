// NodeCalls: questions of clients that a node alone can answer, on their way there and back.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "hub/nodes.h"
#include "os/loop.h"
#include "wire/messages.h"

namespace spate::hub {

class NodeCalls {
 public:
  // Both outlive it.
  NodeCalls(os::Loop& loop, Nodes& nodes) : loop_(loop), nodes_(nodes) {}
  NodeCalls(const NodeCalls&) = delete;
  NodeCalls& operator=(const NodeCalls&) = delete;

  // `call` is set here. kUnavailable: the node is away, or silent for 10 seconds.
  using Told = std::function<void(Result<std::string>)>;
  void Ask(const std::string& node, wire::WantStderr ask, Told fn);
  void OnAnswer(NodeId node, wire::KeptStderr answer);

 private:
  struct Asked {
    NodeId node;  // nobody else may answer
    Told fn;
  };
  os::Loop& loop_;
  Nodes& nodes_;
  std::map<uint64_t, Asked> asked_;  // by WantStderr::call
  uint64_t last_ = 0;
};

}  // namespace spate::hub
