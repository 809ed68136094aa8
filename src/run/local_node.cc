#include "run/local_node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/product.h"
#include "core/model/name.h"
#include "os/find_program.h"

namespace spate::run {
namespace {

constexpr Duration kTellEvery = Duration::Seconds(1);

// The hub's end of the channel. Neither side outlives the other, so nothing is ever refused.
class InprocPort final : public hub::NodePort {
 public:
  explicit InprocPort(std::unique_ptr<hub::NodeChannel> channel) : channel_(std::move(channel)) {}
  void Send(wire::ToNode message) override { channel_->Send(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    channel_->OnMessage(std::move(receiver));
  }
  void Refuse(const wire::Refusal&) override {}
  void Close() override {}

 private:
  const std::unique_ptr<hub::NodeChannel> channel_;
};

wire::Greeting GreetingOf(const Offer& offer) {
  wire::Greeting greeting;
  greeting.role = wire::Role::kNode;
  greeting.node_name = ReadName(offer.node_name, "node name").value_or("localhost");
  return greeting;
}

// It takes every job of its hub.
const hub::Caller kOwnNode = {.user = "*", .is_admin = true};

NodeId Admit(hub::Service& hub, const Offer& offer) {
  auto admitted = hub.AdmitNode(GreetingOf(offer), kOwnNode);
  CHECK(admitted.has_value());
  return *admitted;
}

}  // namespace

LocalNode::LocalNode(Parts parts, NodeId id)
    : parts_(std::move(parts)),
      id_(id),
      channels_(transport::MakeInprocPair<wire::ToNode, wire::ToHub>(parts_.loop)) {}

Result<std::unique_ptr<LocalNode>> LocalNode::Open(Parts parts) {
  const NodeId id = Admit(parts.hub, parts.offer);
  std::unique_ptr<LocalNode> node(new LocalNode(std::move(parts), id));
  const Parts& of = node->parts_;
  node->host_ = TRY(node::Host::Open(of.loop, {.id = id,
                                               .offer = of.offer,
                                               .tasks = of.tasks,
                                               .machine = &of.machine,
                                               .tell_every = kTellEvery,
                                               .dialects = format::Dialects(os::FindBash()),
                                               .doubt = of.doubt,
                                               .left_running = of.left_running}));
  return node;
}

void LocalNode::Join() {
  auto port = std::make_unique<InprocPort>(parts_.deliverer.Over(std::move(channels_.first)));
  parts_.hub.NodeArrived(id_, {std::move(port), "this process", ProductVersion()}, kOwnNode);
  host_->node().Connect(*channels_.second);
}

uint32_t LocalNode::running() const {
  return std::min<uint32_t>(host_->node().agent().busy(), parts_.offer.slots);
}

}  // namespace spate::run
