// LocalNode: the node of a run, in the process of its hub.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "forward/deliverer.h"
#include "hub/service.h"
#include "node/host.h"
#include "os/cgroup.h"
#include "os/machine.h"
#include "os/real_loop.h"
#include "transport/inproc.h"

namespace spate::run {

class LocalNode {
 public:
  // All that is referred to outlives it.
  struct Parts {
    os::RealLoop& loop;
    hub::Service& hub;
    forward::Deliverer& deliverer;  // of what tasks forward
    const os::Machine& machine;
    Offer offer;
    node::ProcessExecutorOptions tasks;
    node::Doubt doubt;
    // A command has ended and left these processes running. For people.
    std::function<void(const AttemptRef&, const std::string& processes)> left_running;
  };
  // Ready to start tasks.
  static Result<std::unique_ptr<LocalNode>> Open(Parts parts);
  // Joins the hub. Once.
  void Join();

  // Null: slots have none; the error is the reason.
  const Result<std::unique_ptr<os::CgroupTree>>& cgroups() const { return host_->cgroups(); }
  uint32_t running() const;
  // See node::Node.
  void SetOutputBlocked(bool blocked) { host_->node().SetOutputBlocked(blocked); }
  void CutOffHeld(const std::string& why) { host_->node().CutOffHeld(why); }
  void Pause(bool paused) { host_->Pause(paused); }

 private:
  LocalNode(Parts parts, NodeId id);

  const Parts parts_;
  const NodeId id_;
  transport::InprocPair<wire::ToNode, wire::ToHub> channels_;
  std::unique_ptr<node::Host> host_;
};

}  // namespace spate::run
