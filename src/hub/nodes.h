// Nodes: the nodes that a hub knows, and the connections of those that are there.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/facts.h"
#include "core/model/why.h"
#include "hub/credentials.h"
#include "hub/hub.h"
#include "os/loop.h"
#include "store/hub_store.h"
#include "wire/greeting.h"

namespace spate::hub {

// The hub's end of a node's connection. Its owner calls Nodes::Disconnected when it has ended.
class NodePort : public NodeChannel {
 public:
  // Tells why, and closes.
  virtual void Refuse(const wire::Refusal& why) = 0;
  virtual void Close() = 0;
};

// Lines of a kind in the log: so many in ten minutes, of the others how many there were.
struct LogShare {
  Instant since{};
  uint32_t told = 0;
  uint32_t untold = 0;
};

class Nodes {
 public:
  struct Node {
    store::NodeRow row;
    std::string peer;                      // address of its connection, or of its last one
    uint64_t serial = 0;                   // credential by which it came
    bool is_pilot = false;                 // nobody waits for it once it has gone
    std::string product;                   // its version
    uint32_t speaks = 0;                   // the protocol for which it was refused; 0: it was not
    Instant refused_at{};                  // when, the last time
    Instant since{};                       // it came, or went
    std::unique_ptr<NodePort> channel;     // null: it is not connected
    std::optional<wire::NodeState> state;  // what it told last; while it is away only its runs
    LogShare told;                         // lines about it
    bool waits = false;                    // Nodes::SetWaits
    size_t offer = 0, news = 0;            // memory of its Hello, and of its state
    Instant starts_since{};                // of a second, in which it started so many tasks
    uint32_t starts = 0;
    // It still calls, and is refused for its protocol: a refused node calls again within half a
    // minute (link::NodeOptions).
    bool IsRefused(Instant now) const {
      return speaks > 0 && now - refused_at < Duration::Seconds(120);
    }
  };
  // Events of pilots' nodes. A node that is away may come back.
  struct PilotEvents {
    std::function<void(NodeId, provision::PilotId, const Offer&)> joined;
    std::function<void(NodeId)> away;
    std::function<void(NodeId)> left;
  };
  Nodes(os::Loop& loop, store::NodeRows& store, Hub& hub, WriteLog log, PilotEvents pilots = {});

  Status Load();
  // The node's number, or why it may not come in.
  std::expected<NodeId, wire::Refusal> Admit(const std::string& name, const std::string& instance,
                                             const Caller& caller);
  struct Arrival {
    std::unique_ptr<NodePort> port;
    std::string peer;                        // its address, for people
    std::string product;                     // its version
    std::vector<std::string> features = {};  // that it named in its greeting
  };
  // One that has proved who it is, and is refused for its protocol: its tasks are not given up
  // while it knocks.
  void Knocked(const wire::Greeting& greeting, const Caller& caller);
  // One that was admitted.
  void Arrived(NodeId node, Arrival arrival, const Caller& caller);
  // Its connection has ended; it was last heard `quiet` before. kEnded: nothing of it is known any
  // more.
  void Disconnected(NodeId node, const std::string& why, Duration quiet = {},
                    engine::LastNodes what = engine::LastNodes::kMayReturn);
  // Forgets those that went before `when`, unless somebody said something about them; their rows go
  // when they were forgotten before `rows`.
  void ForgetAway(Instant when, Instant rows);
  // Forgets a disconnected node now, unless somebody said something about it; only its row stays.
  bool Forget(NodeId node);
  // Cuts the connections that came by this credential, or all; says why.
  void Drop(uint64_t serial, const std::string& why);
  void DropAll();
  // kEnds, kWaits: forgets a node when its tasks have ended there, and refuses it from then on. A
  // disconnected node is forgotten at once (kEnds) or when it is lost (kWaits). kNone: accepts the
  // node again.
  enum class Removal : uint8_t { kEnds, kWaits, kNone };
  // kEnds: its process is to end. kWaits: it calls again until it is let in, or until the hub's
  // next life tells it to end.
  void Remove(NodeId node, Removal how);
  // The engine has forgotten it (NoticeNodeRemoved).
  void Removed(NodeId node);
  // Nobody waits for it once it has gone.
  void MarkPilot(NodeId node) { nodes_.at(node).is_pilot = true; }
  // Has a node end. It is forgotten when it has gone.
  void Dismiss(NodeId node, const std::string& why);
  // Stores the node's report on itself and its tasks. Returns the jobs of which other tasks run
  // there than it told before, or for which the answer of LeftRunning has changed.
  std::set<JobId> StoreState(NodeId node, wire::NodeState state);
  // The node has begun to run it. Of a node that begins many in a second its next report tells.
  // False: nothing has changed.
  bool Started(NodeId node, const AttemptRef& ref);
  // The attempt has ended durably, all parts of it.
  void Ended(const AttemptRef& ref);
  // How many of the job's leased tasks run, and which, as nodes have told; the others wait there.
  // nullopt: a node that has some has not told yet in this life of the hub. Cost: such nodes, and
  // of RunningTasks the tasks.
  std::optional<uint32_t> Running(JobId job, uint32_t leased) const;
  std::optional<std::vector<TaskRange>> RunningTasks(JobId job) const;
  // The node has output for which the hub's disk has no room: what it reports waits there, and is
  // not heard.
  void SetWaits(NodeId node, bool waits);
  // Tasks of the job that wait for what their commands left running, by node: the first `most`.
  // Cost: the slots of the nodes that have such tasks.
  std::vector<LeftRunningFacts> LeftRunning(JobId job, size_t most = kLeftRunningMost) const;
  static constexpr size_t kLeftRunningMost = 20;
  // Nodes that have told of tasks of the job that run.
  const std::set<NodeId>& WithRunsOf(JobId job) const;
  // Why a task of the job waits that a node has (NodeState::Wait); empty: none does, as far as is
  // known. Cost: the waits of a node that has one, and as WhyOutputWaits.
  Why WhyHeldUp(JobId job) const;
  // The same if it is for the hub's disk. Cost: the nodes that have such output (SetWaits).
  Why WhyOutputWaits(JobId job) const;
  // The same of a task that a node has; empty: it does not wait there.
  static Why WhyHeldUp(const Node& node, JobId job);

  const std::map<NodeId, Node>& all() const { return nodes_; }
  const os::Loop& loop() const { return loop_; }
  // Removed ones, too.
  const Node* FindByName(const std::string& name) const;
  // Nodes whose names begin so, in their order. Cost: theirs.
  std::vector<NodeId> FindByPrefix(const std::string& prefix) const;
  uint32_t connected() const { return connected_; }
  // Tasks that they have told to run.
  uint64_t runs() const { return runs_; }
  // How often one has joined, and was disconnected, in this life.
  uint64_t came() const { return came_; }
  uint64_t went() const { return went_; }
  // True if nodes that went after `when` may come back. Cost: all nodes.
  bool ExpectsAny(Instant when) const;
  // The reason with what only connections show: nodes that are away, since when, or refused; and
  // why others are drained. Cost: all nodes, where nodes are missing.
  Why Complete(Why why) const;

 private:
  Node& Make(const std::string& name);
  // Nodes that take no tasks: of these, or (null) of all. No names: there are none.
  Reason TroublesOf(ReasonKind kind, const std::vector<std::string>* names) const;
  void NameSilent(Reason& silent) const;
  // Counts the memory of the offer. An error: it is too much, and the node is refused.
  Status KeepOffer(Node& node, const Offer& offer);
  bool AllTold(JobId job) const;
  void ForgetState(NodeId node);
  // The memory of the node's offer and state counts no longer.
  void Unweigh(Node& node);
  // A line of the log, unless there were many lately about the node, or about nodes of its user:
  // pilots have a new name each time.
  void TellOf(Node& node, std::string line);
  bool TakeLine(LogShare& share, uint32_t most, const std::string& whose, std::string& line);
  Result<store::NodeRow> ReadRow(const std::string& name);
  wire::RefusalCode CodeFor(NodeId removed) const;
  std::expected<void, wire::Refusal> CheckNames(const Caller& caller) const;

  os::Loop& loop_;
  store::NodeRows& store_;
  Hub& hub_;
  const WriteLog log_;
  const PilotEvents pilots_;
  std::map<NodeId, Node> nodes_;
  uint64_t runs_ = 0;  // in their states
  std::map<std::string, NodeId> by_name_;
  std::map<JobId, std::set<NodeId>> running_;  // whose state has runs of the job
  // Those of these runs that have not ended, and on how many nodes: parts of gangs.
  std::map<JobId, std::map<AttemptRef, uint32_t>> started_;
  // They have not told their state in this life, and may have tasks.
  std::set<NodeId> untold_;
  std::map<JobId, std::set<NodeId>> left_running_;  // whose state has such tasks of the job
  std::map<JobId, std::set<NodeId>> held_up_;       // whose state has waits of the job
  std::map<std::string, store::NodeRow> leaving_;   // forgotten, which is not durable yet
  std::map<std::string, LogShare> told_;            // of a user's nodes
  std::set<NodeId> waiting_;                        // removed ones
  std::set<NodeId> keeping_;                        // Node::waits
  NodeId last_;                                     // the newest that there ever was
  uint32_t connected_ = 0;
  uint64_t came_ = 0;
  uint64_t went_ = 0;
  bool looked_at_rows_ = false;  // of forgotten ones, whether any are old
};

}  // namespace spate::hub
