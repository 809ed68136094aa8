// For tests of a hub: a node's end of its connection.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hub/nodes.h"

namespace spate::hub {

struct NodeEnd {
  std::function<void(wire::ToHub)> say;
  std::string refused;             // why the hub refused the node
  bool keeps_sent = false;         // set before the node joins
  std::vector<wire::ToNode> sent;  // by the hub, if `keeps_sent`
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const wire::ToNode& each : sent) {
      if (const auto* one = std::get_if<T>(&each)) all.push_back(*one);
    }
    return all;
  }
};

class NodeEndPort final : public NodePort {
 public:
  explicit NodeEndPort(NodeEnd& end) : end_(end) {}
  void Send(wire::ToNode message) override {
    if (end_.keeps_sent) end_.sent.push_back(std::move(message));
  }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    end_.say = std::move(receiver);
  }
  void Refuse(const wire::Refusal& why) override { end_.refused = why.reason; }
  void Close() override {}

 private:
  NodeEnd& end_;
};

}  // namespace spate::hub
