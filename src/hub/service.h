// Service: a hub: the engine over its journal, the entrance, and the nodes and clients behind it.
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
#include "hub/answers.h"
#include "hub/aside.h"
#include "hub/client_session.h"
#include "hub/credentials.h"
#include "hub/hub.h"
#include "hub/jobs.h"
#include "hub/node_calls.h"
#include "hub/nodes.h"
#include "hub/pools.h"
#include "hub/pruner.h"
#include "hub/refusal_log.h"
#include "hub/turns.h"
#include "link/entrance.h"
#include "link/share.h"
#include "os/address.h"
#include "os/real_loop.h"
#include "os/subnet.h"
#include "store/hub_store.h"

namespace spate::hub {

class Service final : public Watcher, public link::Gate, public ClientHost {
 public:
  struct Options {
    std::string dir;                  // of the hub, absolute
    std::vector<os::Address> listen;  // beside the socket in `dir`
    std::string host;                 // the name by which others reach this machine
    std::string product;              // its version
    size_t connections = 4096;        // at once, with clients and nodes
    size_t strangers = 1024;          // at one address, before they have said who they are
    Duration suspect_after;           // a connection of so long a silence is cut
    Duration lost_after;              // and after this one a node's tasks run elsewhere
    Duration forget_nodes = Duration::Seconds(86400);  // that are away for so long
    Duration keep = Duration::Seconds(90 * 86400);     // finished jobs
    uint64_t keep_bytes = UINT64_MAX;                  // of them, with their output
    HabitsByKind habits;                               // of kinds of rows that have some
    std::optional<os::Subnets> peers;                  // nobody else may come
    std::optional<GangPolicy> policy;                  // from now on; nullopt: as it was
    std::function<void(std::string)> log;              // a line for whoever looks after the hub
    std::function<void(int code)> stopped;             // the hub has come to its end
    // A process that answers for ClientHost::StartReader.
    std::function<Result<std::unique_ptr<os::Child>>(const Caller& caller, std::string input,
                                                     os::Child::Events events)>
        start_reader;
    std::string user;                    // whom this process runs as
    std::string program;                 // spate, as nodes find it that see this machine's files
    std::shared_ptr<Commands> commands;  // of batch systems
    // Adds what only the program around the hub knows: metrics, journal_bytes, lag.
    std::function<void(HubFacts& facts)> about;
  };
  // What this life of the hub is.
  struct Self {
    std::string dir, host, product;  // as in Options
    Epoch epoch;
    Instant since;
    // For access files: how others reach it. Empty: only by the socket.
    std::vector<os::Address> reached_at;
  };
  // Takes up what an earlier life left, and opens the entrance. `loop` and `store` outlive it.
  static Result<std::unique_ptr<Service>> Open(os::RealLoop& loop, store::HubStore& store,
                                               transport::Identity identity, Options options);
  ~Service() override;

  // Says goodbye to all; then `stopped` is called.
  void Stop();

  os::RealLoop& loop() { return loop_; }
  store::HubStore& store() const { return store_; }
  Hub& hub() const { return *hub_; }
  const engine::Engine& engine() const { return hub_->engine(); }
  Jobs& jobs() const { return *jobs_; }
  KnownJobs& known() const { return jobs_->known(); }
  Credentials& access() const { return *access_; }
  Nodes& nodes() const { return *nodes_; }
  NodeCalls& calls() const { return *calls_; }
  Pools& pools() const { return *pools_; }
  const transport::Identity& identity() const { return identity_; }
  const Self& self() const { return self_; }
  const link::Entrance& entrance() const { return *entrance_; }
  Instant now() const { return loop_.Now(); }
  void TellAbout(HubFacts& facts) const {
    if (options_.about) options_.about(facts);
  }
  // For whoever looks after the hub.
  void Log(std::string line) const { options_.log(std::move(line)); }
  size_t clients() const { return clients_.size(); }

  // Holds all jobs, ends what runs of them, and removes the pools; then, or when `patience` is
  // over, `done` is called. A release of the jobs makes them go on.
  void EndWork(Duration patience, std::function<void()> done);

  void DropClientsOf(uint64_t serial, const std::string& why);

 private:
  Service(os::RealLoop& loop, store::HubStore& store, transport::Identity identity,
          Options options);

  // ClientHost
  uint32_t nodes_joined() const override {
    return nodes_->connected() + static_cast<uint32_t>(pools_->count());
  }
  const JobHabits& HabitsOf(RowKind kind) const override;
  Turns& reader_turns() override { return reader_turns_; }
  Result<std::unique_ptr<os::Child>> StartReader(const Caller& caller, std::string input,
                                                 os::Child::Events events) override {
    return options_.start_reader(caller, std::move(input), std::move(events));
  }
  void OnQuery(ClientSession& client, wire::Query query) override {
    AnswerQuery(*this, client, std::move(query));
  }

  // link::Gate
  std::expected<link::Admission, wire::Refusal> Admit(const link::Guest& guest) override;

  // Watcher
  void OnHubNotice(const engine::Notice& notice) override { jobs_->OnHubNotice(notice); }
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr&) override {
    jobs_->OnEnded(notice);
  }
  void OnHeld(const engine::NoticeHeld& notice) override { jobs_->OnHeld(notice); }
  void OnFinished(const engine::NoticeFinished& notice) override { jobs_->OnFinished(notice); }
  void OnNews(const wire::ToHub&) override {}
  void OnNodeState(NodeId node, wire::NodeState state) override {
    nodes_->Tell(node, std::move(state));
    pools_->NodeTold(node);
  }
  void OnAnswer(NodeId node, wire::Answer answer) override {
    calls_->OnAnswer(node, std::move(answer));
  }
  void OnStoreFailed(const Error& error) override;
  bool OnRowsDamaged(JobId job, std::span<const TaskRange>, const Error& error) override {
    jobs_->OnRowsDamaged(job, error);
    return true;
  }

  Status Resume();
  void MakeParts();
  Status ReplayAll();
  Status OpenEntrance();
  void Arrived(link::Visitor visitor);
  void NodeArrived(link::Visitor visitor, const Caller& caller);
  std::shared_ptr<link::Share> ShareOf(const Caller& caller, wire::Role role);
  std::expected<link::Admission, wire::Refusal> Judge(const link::Guest& guest);
  std::expected<Caller, wire::Refusal> Who(const link::Guest& guest) const;
  std::expected<void, wire::Refusal> CheckPlaces(const Caller& caller, wire::Role role) const;

  os::RealLoop& loop_;
  store::HubStore& store_;
  const Options options_;
  const transport::Identity identity_;
  Self self_;
  AsideThreads aside_{loop_};
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Credentials> access_;
  std::unique_ptr<Nodes> nodes_;
  std::unique_ptr<NodeCalls> calls_;
  std::unique_ptr<Pools> pools_;
  std::unique_ptr<Pruner> pruner_;
  std::unique_ptr<link::Entrance> entrance_;
  std::map<uint64_t, std::unique_ptr<ClientSession>> clients_;
  uint64_t last_client_ = 0;
  Turns reader_turns_{{.all = 32, .of_a_user = 8, .kept = 4}};
  std::map<std::string, std::weak_ptr<link::Share>> shares_;  // by user
  RefusalLog refusals_;
  bool stopping_ = false;
};

}  // namespace spate::hub
