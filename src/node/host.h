// Host: a node with what its tasks need on this machine, wired once: shepherds in cgroups, the
// processors that tasks are bound to, files that jobs bring along, the machine's load, and the
// connection to its hub.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/agent/cpu_packer.h"
#include "link/channels.h"
#include "node/cpu_binder.h"
#include "node/node.h"
#include "node/process_executor.h"
#include "node/process_list.h"
#include "node/traffic_watch.h"
#include "os/cgroup.h"
#include "os/machine.h"
#include "os/real_loop.h"

namespace spate::node {

struct HostOptions {
  // Processors for tasks of several cpus.
  struct Cpus {
    agent::CpuPacker packer;
    std::string variable;  // of a task's environment: its units
    bool binds = true;     // false: tasks are only told their units
    bool floats = false;   // other tasks keep off the units of bound ones
    std::function<void(const AttemptRef&, uint32_t count)> on_split = {};  // CpuBinder::Parts
  };
  NodeId id;
  Offer offer;
  // Starts tasks: shepherds, with the slots of the offer and a cgroup where there are some; or an
  // executor that outlives the host and tells Host::events.
  std::variant<ProcessExecutorOptions, Executor*> tasks;
  const os::Machine* machine = nullptr;  // for cgroups and load; null: neither
  std::string cgroup;  // folder that those of tasks are made in; empty: the one of this process
  std::optional<Cpus> cpus = std::nullopt;
  std::string puts = {};        // folder for files that jobs bring along; empty: none do
  KnownUsers* users = nullptr;  // this and what follows: Node::Parts
  Duration tell_every = {};
  KeptStreams kept = {};
  int umask = -1;
  format::Dialects dialects = {};
  Doubt doubt = {};
  std::function<bool(wire::ToNode&)> first = nullptr;
  std::function<void(const AttemptRef&, const std::string& processes)> left_running = nullptr;
};

class Host {
 public:
  // `loop` outlives it. kBusy: another process of this node runs (ProcessExecutorOptions).
  static Result<std::unique_ptr<Host>> Open(os::RealLoop& loop, HostOptions options);
  ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Node& node() { return *node_; }
  const Node& node() const { return *node_; }
  // Hears of attempts, before the node does: SetEvents puts one in between that passes all on.
  ExecutorEvents& events();
  void SetEvents(ExecutorEvents& first);
  // Stops all tasks, and lets them continue.
  void Pause(bool paused) {
    if (paused) node_->SetPaused(true);
    executor_->Pause(paused);
    if (!paused) node_->SetPaused(false);
  }
  struct AdoptedNow {
    size_t tasks = 0;                   // attempts that run or have ended
    std::vector<std::string> problems;  // shepherds that were ended, and why: for the log
  };
  // Takes over what an earlier process of this node left. Once, before Connect. Only with
  // shepherds.
  Result<AdoptedNow> Adopt();

  // Speaks with the hub over this accepted connection. `closed` is called once, by the loop; then
  // the owner calls Disconnect.
  using Closed = std::function<void(const link::Ended&)>;
  void Connect(std::unique_ptr<link::Connection> connection, Closed closed,
               uint64_t longest_stream = UINT64_MAX);
  // Attempts go on, and what they report is kept.
  void Disconnect();
  // Null: not connected.
  link::HubChannelTcp* channel() { return channel_.get(); }

  // The last call but Disconnect: ends the tasks, and returns what the hub should hear
  // (Node::CutOff).
  wire::Ends CutOff(const std::string& why);
  // The last call: what runs is left to the node's next process.
  void LeaveForAdoption();

  // Null: slots have none; the error is the reason.
  const Result<std::unique_ptr<os::CgroupTree>>& cgroups() const { return cgroups_; }
  // Places where trees of dead nodes may be.
  const os::CgroupPlaces& cgroup_places() const { return cgroup_places_; }

 private:
  Host(os::RealLoop& loop, HostOptions& options);
  Status MakeShepherds(ProcessExecutorOptions with, const Offer& offer);
  void MakeBinder(HostOptions::Cpus cpus);
  std::vector<AttemptRoot> Roots() const;

  os::RealLoop& loop_;
  const os::Machine* const machine_;
  os::CgroupPlaces cgroup_places_;
  Result<std::unique_ptr<os::CgroupTree>> cgroups_ =
      Fail(ErrorKind::kUnavailable, "this node makes no cgroups");
  std::unique_ptr<ProcessExecutor> shepherds_;  // null: somebody else's executor
  Executor* executor_ = nullptr;
  std::unique_ptr<CpuBinder> binder_;  // null: tasks run where they like
  std::optional<PutFiles> files_;
  std::optional<ProcessList> processes_;
  std::optional<TrafficWatch> traffic_;  // of a hub's node
  std::unique_ptr<Node> node_;
  std::unique_ptr<link::HubChannelTcp> channel_;
};

}  // namespace spate::node
