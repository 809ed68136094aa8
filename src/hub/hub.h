// Hub: the thin shell around the engine. It feeds events in, makes records durable, and is the one
// place that releases what follows from them: sends to nodes and notices to the watcher queue
// behind the commit that covers them, in order.
//
// Thread: the loop's. A failed commit is fatal: the watcher is told once, nothing queued leaves,
// and no event is taken any more.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/engine/engine.h"
#include "hub/gang_members.h"
#include "hub/peer_memory.h"
#include "os/loop.h"
#include "store/store.h"
#include "transport/channel.h"
#include "wire/messages.h"

namespace spate::hub {

// Watcher of jobs. Ends come once each, after they are durable.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;
  virtual void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) = 0;
  virtual void OnHeld(const engine::NoticeHeld& notice) = 0;
  virtual void OnFinished(const engine::NoticeFinished& notice) = 0;
  // News that only a hub of many jobs has: NoticeAccepted, NoticeRefused, NoticeNodeSick.
  virtual void OnHubNotice(const engine::Notice&) {}
  // The rows of some tasks cannot be read. False: the hub has failed. True: they go back, and the
  // watcher sees to it that nothing more of the job is started.
  virtual bool OnRowsDamaged(JobId, std::span<const TaskRange>, const Error&) { return false; }
  virtual void OnStoreFailed(const Error& error) = 0;
};

// Watcher of nodes' other reports.
class NodeWatcher {
 public:
  virtual ~NodeWatcher() = default;
  // Running, Live, Slow, Paused: one-way news.
  virtual void OnNews(const wire::ToHub& news) = 0;
  virtual void OnRunning(NodeId, const wire::Running& running) { OnNews(running); }
  virtual void OnNodeState(NodeId, wire::NodeState) {}
  virtual void OnAnswer(NodeId, const wire::AnswerPiece&) {}
};

class Watcher : public JobWatcher, public NodeWatcher {};

using NodeChannel = transport::Channel<wire::ToNode, wire::ToHub>;

class Hub {
 public:
  // All references outlive the hub. `epoch` is larger than in every earlier life of this store.
  Hub(os::Loop& loop, store::Store& store, Watcher& watcher, Epoch epoch,
      const Limits& limits = kLimits);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Before anything else at a restart: reads the journal back.
  Status Replay();
  // The job's records could not be read: it is not the engine's, and who waits for it goes on.
  void SetAside(JobId job) { engine_.SetAside(job); }
  // After Replay, once.
  void Resume(engine::LastNodes nodes);

  // A node that speaks through `channel`, which outlives the connection. It takes part from its
  // Hello on.
  void Connect(NodeId node, NodeChannel& channel);
  // kEnded: the node is gone, and its leases with it. kMayReturn: it has been silent for `quiet`.
  void Disconnect(NodeId node, engine::LastNodes what, Duration quiet = {});

  // How a job's tasks run; told to every node that gets one. Before its first lease, or again when
  // all its tasks have ended.
  void SetSettings(JobId job, std::shared_ptr<const JobSettings> settings);
  // Source of settings that were not set: then no more of them are kept than are in use. kCorrupt:
  // nothing of the job can run, as with rows that are damaged.
  using SettingsSource = std::function<Result<std::shared_ptr<const JobSettings>>(JobId)>;
  void SetSettingsSource(SettingsSource source) { settings_source_ = std::move(source); }
  Result<std::shared_ptr<const JobSettings>> SettingsOf(JobId job);  // needs a SettingsSource
  // A job is over: its memory goes, here and on the nodes. False when it has not finished, when an
  // event waits, which may be about it, or when its end is not durable yet (then its records are
  // not all there to take it up again): try again later.
  bool Unload(JobId job);
  // A node that has left is forgotten; see engine::Engine::ForgetNode. False also when that takes a
  // record, which is on its way: try again later.
  bool ForgetNode(NodeId node);
  // Takes an unloaded job up again; see engine::Engine::Reload.
  bool Reload(JobId job, engine::Engine& past) { return engine_.Reload(job, past); }
  // Loop::Wall() has changed: deadlines are looked at. `told`: this is recorded, for people.
  void ClockStepped(std::optional<engine::ClockStepped> told);
  // This machine was suspended for so long: nodes elsewhere have lived on.
  void Slept(Duration time);
  // When the life of a node that says so ends, by Loop::Now().
  Instant EndOfLife(NodeId node, const wire::Hello& hello) const;
  // Takes events in. Rows that the events need must be appended to the store before.
  void Post(engine::Event event);

  // For a hub whose nodes start commands for each other. Without it gangs have no secret, so that
  // nobody can.
  void SetGangKey(std::string_view key) { gangs_.SetKey(key); }
  // The addresses at which a connected node is reached by others than its hub, as it says; empty:
  // none.
  std::string RemoteOf(const std::string& node) const { return gangs_.RemoteOf(node); }

  const engine::Engine& engine() const { return engine_; }
  PeerMemory& peer_memory() { return peer_memory_; }
  // Called after each step: tasks may want other nodes than before.
  void SetStepped(std::function<void()> fn) { stepped_ = std::move(fn); }
  // See engine::Engine.
  void WatchDemand() { engine_.WatchDemand(); }
  std::vector<ClassDemand> DrainDemand() { return engine_.DrainDemand(); }
  // Calls `fn` once, from the loop, when nothing waits for a commit or a step any more, or the
  // store has failed.
  void WhenSettled(std::function<void()> fn);
  // When all that the store has been given is durable. Never when the store has failed, which ends
  // the hub: whoever waits is cut off, and asks the next one.
  void WhenDurable(std::function<void()> fn);
  // The callback for writes that parts of the hub give to the store: a failed write ends the hub,
  // even if nobody waits for it; a durable one calls `fn`, which may be null.
  std::function<void(const Status&)> Stored(std::function<void()> fn = nullptr);
  void StoreFailed(const Error& error);
  bool Settled() const { return events_.empty() && unreleased_.empty(); }

 private:
  // Effects of one step that wait until its records are durable.
  struct Unreleased {
    bool durable = false;
    std::vector<engine::Send> sends;
    std::map<NodeId, uint64_t> taken;  // reports that are durable then
    std::vector<engine::Notice> notices;
    std::deque<TaskOutputPtr> outputs;  // one for each NoticeEnded, in order
  };
  struct NodeLink {
    NodeChannel* channel = nullptr;
    std::set<JobId> opened;
    std::optional<wire::WantPiece> wanted;  // in this turn of the loop; nodes ask for one at a time
    std::optional<Duration> clock_behind;   // the node's clock, of ours; nullopt: not known
    Instant since;                          // it has read its clock later than this
    Duration slept;                         // time that our machine was suspended since then
  };
  // The parts of a gang's attempt end on several nodes.
  struct EndKey {
    NodeId node;
    AttemptRef ref;
    friend bool operator==(const EndKey&, const EndKey&) = default;
  };
  struct EndKeyHash {
    size_t operator()(const EndKey& key) const {
      return AttemptRefHash()(key.ref) ^ (key.node.value * 0x9e3779b97f4a7c15u);
    }
  };
  void OnMessage(NodeId node, wire::ToHub message);
  void KeepOutputs(NodeId node, wire::Ends& ends);
  void CompareClock(NodeId node, Instant theirs);
  Instant ByOurClock(NodeId node, Instant began, Duration took) const;
  void ScheduleStep();
  void StepNow();
  // Commits the output's records and queues the rest behind them.
  // Takes back what was not sent to the node. False when it has no connection.
  bool CutLink(NodeId node);
  bool DropLink(NodeId node);  // the record of its connection alone
  void Handle(engine::Output& out);
  void Release();
  void TellSettled();
  void SendToNode(const engine::Send& send);
  void TellSent(const std::vector<engine::Send>& sends);
  void SendLease(const engine::SendLease& send);
  void GiveBack(const engine::SendLease& send, const Error& error);
  void CloseOnNodes(JobId job);
  void RequestPiece(NodeId node, const wire::WantPiece& want);
  void SendPiece(NodeId node);
  void Fail(const Error& error);

  os::Loop& loop_;
  store::Store& store_;
  Watcher& watcher_;
  const Epoch epoch_;
  engine::Engine engine_;
  GangMembers gangs_;
  PeerMemory peer_memory_;

  std::map<NodeId, NodeLink> links_;
  // The nodes whose links have opened a job, so that its end costs nothing on others.
  std::unordered_map<JobId, std::set<NodeId>> opened_;
  std::map<JobId, std::shared_ptr<const JobSettings>> settings_;
  SettingsSource settings_source_;
  std::deque<std::pair<JobId, std::shared_ptr<const JobSettings>>> read_settings_;  // newest first
  std::vector<engine::Event> events_;
  std::unordered_map<EndKey, TaskOutputPtr, EndKeyHash> outputs_;  // of ends in events_
  std::map<NodeId, uint64_t> reports_;  // by node, the last one that became an event
  std::deque<Unreleased> unreleased_;
  std::multiset<JobId> finishing_;  // that have a NoticeFinished in there
  engine::Output out_;
  std::function<void()> on_settled_;
  std::function<void()> stepped_;
  bool step_scheduled_ = false;
  bool releasing_ = false;
  bool failed_ = false;
  os::TimerId timer_ = 0;
  // Guards functions that the loop or the store calls later.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::hub
