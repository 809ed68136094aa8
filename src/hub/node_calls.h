// NodeCalls: questions of clients that a node alone can answer, on their way there and back.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "hub/nodes.h"
#include "os/loop.h"
#include "wire/messages.h"

namespace spate::hub {

class NodeCalls {
 public:
  // Both outlive it.
  NodeCalls(os::Loop& loop, Nodes& nodes) : loop_(loop), nodes_(nodes) {}
  ~NodeCalls() { *alive_ = false; }
  NodeCalls(const NodeCalls&) = delete;
  NodeCalls& operator=(const NodeCalls&) = delete;

  template <typename T>
  using Told = std::function<void(Result<T>)>;
  // `call` is set here. kUnavailable: the node is away, or goes, or is silent for 10 seconds.
  void Ask(const std::string& node, wire::WantStderr ask, Told<std::string> fn);
  // The same, with kLookPatience in place of 10 seconds. kBusy: kMostLooks looks of the user at the
  // node are under way.
  void Ask(NodeId node, const std::string& user, wire::WantLook ask, Told<RunLook> fn);
  void OnAnswer(NodeId node, wire::KeptStderr answer);
  void OnAnswer(NodeId node, wire::RunLooked answer);
  // Its connection has ended, so it answers nothing more.
  void Gone(NodeId node);

  static constexpr Duration kLookPatience = Duration::Seconds(3);
  static constexpr size_t kMostLooks = 16;

 private:
  template <typename T>
  struct Asked {
    NodeId node;  // nobody else may answer
    Told<T> fn;
  };
  template <typename T>
  using AskedByCall = std::map<uint64_t, Asked<T>>;
  template <typename T>
  void Tell(AskedByCall<T>& asked, uint64_t call, Result<T> answer);
  template <typename T, typename Message>
  void Send(AskedByCall<T>& asked, const Nodes::Node& node, Message ask, Told<T> fn,
            Duration patience);
  template <typename T>
  void Drop(AskedByCall<T>& asked, NodeId node);

  os::Loop& loop_;
  Nodes& nodes_;
  AskedByCall<std::string> stderrs_;
  AskedByCall<RunLook> looks_;
  std::map<std::pair<NodeId, std::string>, size_t> looks_of_;  // under way, by user
  uint64_t last_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::hub
