// Service: a hub without a program around it: the engine over its journal, and what clients and
// nodes are to it. It knows no network, no files but its store, and no clock but its loop's; who
// runs it brings connections (ClientPort, NodePort), and what is in Service::Parts.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/facts.h"
#include "hub/answers/answers.h"
#include "hub/aside.h"
#include "hub/caller.h"
#include "hub/client_port.h"
#include "hub/client_session.h"
#include "hub/credentials.h"
#include "hub/disk_watch.h"
#include "hub/hub.h"
#include "hub/jobs.h"
#include "hub/journal_reader.h"
#include "hub/node_calls.h"
#include "hub/nodes.h"
#include "hub/pace.h"
#include "hub/pools/commands.h"
#include "hub/pools/pools.h"
#include "hub/pruner.h"
#include "hub/replay_keeper.h"
#include "hub/self.h"
#include "hub/turns.h"
#include "os/address.h"
#include "store/hub_store.h"

namespace spate::hub {

class Service final : public Watcher, public ClientHost {
 public:
  // All of them outlive the service.
  struct Parts {
    os::Loop& loop;
    store::HubStore& store;
    Aside& aside;           // for what the hub itself reads
    JournalReader& reader;  // for what clients read
    Commands& commands;     // of batch systems
    // Hears what becomes of jobs, and news of their tasks, after the service has. When the store
    // has failed, nothing more is acknowledged, and the owner ends the service.
    Watcher& owner;
  };
  struct Options {
    std::string dir;      // of the hub, absolute
    std::string product;  // its version
    std::string user;     // whom this process runs as
    uint32_t owner = 0;   // that user's number
    std::string program;  // spate, as nodes find it that see this machine's files
    // A secret, from which those of pilots and gangs follow, and the pin by which the network knows
    // the hub.
    std::string key;
    Bytes32 pin = {};
    Limits limits = kLimits;  // node_patience: after so long a silence tasks run elsewhere
    uint32_t pause_after_failures = 25;                // Jobs::Parts
    Duration forget_nodes = Duration::Seconds(86400);  // that are away for so long
    Duration keep = Duration::Seconds(90 * 86400);     // finished jobs
    uint64_t keep_bytes = UINT64_MAX;                  // of them, with their output
    HabitsByKind habits;                               // of kinds of rows that have some
    std::optional<GangPolicy> policy;                  // from now on; nullopt: as it was
    // The journal is of one job, as of a run: the owner writes its row, and it stays in the engine
    // when it has ended. Clients submit no others, and nothing is removed.
    bool one_job = false;
    // Decides if a client may ask this now; an error is the answer. Null: all of it.
    std::function<Status(const wire::Query& query)> allows;
    bool nodes_return = true;  // false: a node ends with its connection, and its tasks with it
    std::function<void()> stepped = nullptr;  // after each step of the engine; may be null
    DiskWatch::Look space = nullptr;          // of the disk of `dir`; null: there is always room
    WriteLog log;                             // a line for whoever looks after the hub
    std::function<void()> stop_asked;         // an administrator wants the hub to end: calls Stop
    std::function<void()> stopped;            // after Stop: all is durable
    std::function<Result<Bytes32>()> make_secret;  // by chance, for credentials
    // Keeps the states of large jobs for what clients read; null: never.
    ReplayKeeper::Keep keep_replay;
    // Adds what only the program around the hub knows: addresses, connections, metrics. May be
    // null.
    std::function<void(HubFacts& facts)> about;
  };
  // Reads the journal back, and writes nothing: the engine is as an earlier life left it.
  static Result<std::unique_ptr<Service>> Read(const Parts& parts, Options options);
  // Takes up what that life left: `nodes` says what became of its nodes. Once; clients and nodes
  // may come from then on.
  Status Resume(engine::LastNodes nodes);
  // Both, of a hub whose nodes may return.
  static Result<std::unique_ptr<Service>> Open(const Parts& parts, Options options);
  ~Service() override;

  // Others reach the hub at these addresses (empty: only by the socket in its folder): pilots are
  // asked for from now on. Once.
  void Begin(std::vector<os::Address> reached_at);
  // Says goodbye to all; then `stopped` is called. Nobody is let in any more.
  void Stop();
  bool stopping() const { return stopping_; }
  // Holds all jobs, ends what runs of them, and removes the pools; then, or when `patience` is
  // over, `done` is called. A release of the jobs makes them go on.
  void EndWork(Duration patience, std::function<void()> done);

  // ---- Who comes in
  // Identifies a guest; changes nothing.
  std::expected<Caller, wire::Refusal> Who(const Guest& guest) const;
  // Admits a guest who is a node: its number, from now on.
  std::expected<NodeId, wire::Refusal> AdmitNode(const wire::Greeting& greeting,
                                                 const Caller& caller);
  // The session lasts until the port says that it is closed.
  void ClientArrived(Caller caller, std::unique_ptr<ClientPort> port);
  // A node that was admitted. When its connection has ended, NodeGone.
  void NodeArrived(NodeId node, Nodes::Arrival arrival, const Caller& caller);
  // A node that was refused for its protocol; `caller` of Who.
  void NodeKnocked(const wire::Greeting& greeting, const Caller& caller);
  // `waits`: its reports wait for room on the hub's disk (Nodes::SetWaits).
  void NodeWaits(NodeId node, bool waits) { nodes_->SetWaits(node, waits); }
  // It was last heard `quiet` before.
  void NodeGone(NodeId node, const std::string& why, Duration quiet);

  // ---- What it is made of
  os::Loop& loop() const { return parts_.loop; }
  Hub& hub() const { return *hub_; }
  const engine::Engine& engine() const { return hub_->engine(); }
  Jobs& jobs() const { return *jobs_; }
  KnownJobs& known() const { return jobs_->known(); }
  Credentials& access() const { return *access_; }
  const Nodes& nodes() const { return *nodes_; }
  const Pools& pools() const { return *pools_; }
  const NodeCalls& calls() const { return *calls_; }
  const Self& self() const { return self_; }
  // Facts for its administrators.
  HubFacts Facts() const;
  // For whoever looks after the hub.
  void Log(LogText line) const { options_.log(std::move(line)); }
  size_t clients() const { return clients_.size(); }

 private:
  Service(const Parts& parts, Options options);
  void ClockStepped(const os::ClockStep& clock);

  // ClientHost
  uint32_t nodes_joined() const override {
    return nodes_->connected() + static_cast<uint32_t>(pools_->count());
  }
  std::vector<LeftRunningFacts> LeftRunning(JobId job) const override {
    return nodes_->LeftRunning(job);
  }
  const JobHabits& HabitsOf(RowKind kind) const override;
  Readers readers() override { return {reader_turns_, question_reader_, changes_}; }
  // The question's; one that nobody answers has an empty one.
  const wire::QuestionRow& RowOf(const wire::Question& question) const;
  Duration CostOf(const wire::Query& query) const;
  Result<Instant> WhenToAnswer(const Caller& caller, const wire::Query& query) override;
  void OnQuery(ClientRequest& client, wire::Query query) override;

  // Watcher
  void OnHubNotice(const engine::Notice& notice) override;
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnNews(const wire::ToHub& news) override { parts_.owner.OnNews(news); }
  void OnRunning(NodeId node, const wire::Running& running) override;
  void OnNodeState(NodeId node, wire::NodeState state) override;
  void OnAnswer(NodeId node, const wire::AnswerPiece& piece) override {
    calls_->OnAnswer(node, piece);
  }
  void OnStoreFailed(const Error& error) override;
  bool OnRowsDamaged(JobId job, std::span<const TaskRange>, const Error& error) override {
    jobs_->OnRowsDamaged(job, error);
    return true;
  }

  void MakeParts();
  void MakePools();
  bool ExpectsNodes() const;
  Status ReplayAll();
  AnswerParts PartsOfAnswers() const;
  void DropClientsOf(uint64_t serial, const std::string& why);

  void TellAbout(HubFacts& facts) const;

  // The journal's reader. It gets wire::Query::live with each question.
  class QuestionReader final : public JournalReader {
   public:
    explicit QuestionReader(const Service& service) : service_(service) {}
    Result<std::unique_ptr<JournalAnswer>> Start(const Caller& caller, const wire::Request& request,
                                                 Events events) override;

   private:
    const Service& service_;
  };

  const Parts parts_;
  const Options options_;
  const std::function<void(HubFacts& facts)> about_ = [this](HubFacts& facts) { TellAbout(facts); };
  Self self_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<DiskWatch> disk_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Credentials> access_;
  std::unique_ptr<Nodes> nodes_;
  std::unique_ptr<NodeCalls> calls_;
  std::unique_ptr<Pools> pools_;
  std::unique_ptr<Pruner> pruner_;
  std::unique_ptr<ReplayKeeper> keeper_;
  std::map<uint64_t, std::unique_ptr<ClientSession>> clients_;
  uint64_t last_client_ = 0;
  QuestionReader question_reader_{*this};
  Turns reader_turns_{{.all = 32, .of_a_user = 8, .kept = 4}};
  Pace pace_;
  // Paces changes of jobs, 1 ms each: 50 a second, after 100,000 at once.
  Pace changes_{{.part = 20, .at_once = Duration::Seconds(100), .longest = Duration::Seconds(10)}};
  bool stopping_ = false;
};

}  // namespace spate::hub
