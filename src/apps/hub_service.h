// HubService: a hub as a process: the engine over its journal, the door, the nodes and the clients
// behind it.
//
// Thread: the loop's.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/first_access.h"
#include "apps/hub_access.h"
#include "apps/hub_aside.h"
#include "apps/hub_client.h"
#include "apps/hub_jobs.h"
#include "apps/hub_nodes.h"
#include "apps/metrics_door.h"
#include "apps/parasol_site.h"
#include "apps/reader_turns.h"
#include "apps/refusal_log.h"
#include "hub/hub.h"
#include "link/door.h"
#include "link/share.h"
#include "os/child.h"
#include "os/real_loop.h"
#include "os/subnet.h"
#include "store/sqlite/sqlite_store.h"
#include "transport/tcp/identity.h"

namespace spate::apps {

class HubService final : public hub::Watcher, public link::Gate {
 public:
  struct Options {
    std::string dir;                     // of the hub, absolute
    std::vector<os::Address> listen;     // beside the socket in `dir`
    std::optional<os::Address> metrics;  // where monitors ask
    std::string user;                    // whom this process runs as
    std::string node_user;               // whose tasks the first access of nodes is for
    std::string host;                    // the name by which others reach this machine
    size_t connections = 4096;           // at once, with clients and nodes
    size_t strangers = 1024;             // at one address, before they have said who they are
    Duration suspect_after;              // a connection of so long a silence is cut
    Duration lost_after;                 // and after this one a node's tasks run elsewhere
    Duration forget_nodes = Duration::Seconds(86400);  // that are away for so long
    Duration keep = Duration::Seconds(90 * 86400);     // finished jobs
    uint64_t keep_bytes = UINT64_MAX;                  // of them, with their output
    std::optional<os::Subnets> peers;                  // nobody else may come
    std::optional<ParasolSite> parasol;                // of paraHub
    std::function<void(std::string)> log;              // a line for whoever looks after the hub
    std::function<void(int code)> stopped;             // the hub has come to its end
  };
  // Takes up what an earlier life left, and opens the door. kBusy: another hub runs in this folder.
  static Result<std::unique_ptr<HubService>> Open(os::RealLoop& loop, Options options);
  ~HubService() override;

  // Says goodbye to all; then `stopped` is called.
  void Stop();

  os::RealLoop& loop() { return loop_; }
  store::SqliteStore& store() const { return *store_; }
  hub::Hub& hub() const { return *hub_; }
  HubJobs& jobs() const { return *jobs_; }
  HubAccess& access() const { return *access_; }
  HubNodes& nodes() const { return *nodes_; }
  uint32_t nodes_joined() const { return nodes_->connected(); }
  Bytes32 pin() const { return identity_.pin(); }
  // For access files: how others reach this hub. Empty: only by the socket.
  const std::vector<os::Address>& reached_at() const { return reached_at_; }
  const link::Door& door() const { return *door_; }
  Epoch epoch() const { return epoch_; }
  Instant since() const { return since_; }
  Instant now() const { return loop_.Now(); }
  const std::string& dir() const { return options_.dir; }
  // Null unless paraHub started it.
  const ParasolSite* parasol() const { return options_.parasol ? &*options_.parasol : nullptr; }
  std::string journal() const { return dir_.place().DbPath(); }
  std::string output_of(JobId job) const { return dir_.place().OutputPath(job); }
  size_t clients() const { return clients_.size(); }
  // Ends of attempts in this life, by engine::Verdict.
  const std::array<uint64_t, 5>& ends() const { return ends_; }
  // By how much the loop was late at the last look, one a second; measured for monitors only.
  Duration lag() const { return lag_; }
  const MetricsDoor* metrics() const { return metrics_.get(); }

  // Whether the caller may look into the job, and change it.
  Status CheckRight(const Caller& caller, JobId job) const;
  // The same, and that the job is not set aside (HubJobs::Job::damage).
  Status CheckUsable(const Caller& caller, JobId job) const;
  // When the job is durable (nullptr), or was refused.
  void WhenAccepted(JobId job, std::function<void(const Error*)> fn);
  // When what was posted before has become durable.
  void WhenSettled(std::function<void()> fn);
  // Aside; `done` is called later. Of the output when `user` is named.
  void ReadFor(std::vector<JobId> jobs, std::string user,
               std::function<void(Result<Readings>)> done);
  // Whether a job that waits for each task of this one needs its readings.
  bool IsPast(JobId job) const;
  // How jobs that it waits for ended, where the engine has forgotten them.
  Status FillOutcomes(engine::SubmitJob& event, const Readings& readings) const;
  // The first task that may be added to a job now. kBusy: somebody adds tasks to it.
  Result<TaskIndex> BeginGrow(JobId job);
  void EndGrow(JobId job) { growing_.erase(job); }
  bool Grows(JobId job) const { return growing_.contains(job); }
  // Of a job that came only in part, or is refused: nothing of it stays.
  void DropUpload(JobId job);
  // Removes a finished job and all that is kept of it.
  void ForgetJob(JobId job, std::function<void()> done);
  // Frees the memory of a finished job, unless it goes on meanwhile.
  void ForgetSoon(JobId job);
  // Takes a job up again that the engine has forgotten, aside; `done` is called later, and the job
  // is there until the next turn of the loop at least.
  void Revive(JobId job, std::function<void(Status)> done);
  // Of a finished job that is about to go on. kBusy: it has not finished.
  Status ChangeSettings(JobId job, const std::function<void(JobSettings&)>& change);
  void DropClientsOf(uint64_t serial, const std::string& why);

  // A process that answers `input` (a frame with a Request) from the journal, in Reply frames; the
  // last of them is a Heartbeat; one with a position (decimal) says that ReadEnds is to be asked
  // again from there, when there is news. Whoever starts one has a turn.
  Result<std::unique_ptr<os::Child>> StartReader(const Caller& caller, std::string input,
                                                 os::Child::Events events);
  ReaderTurns& reader_turns() { return reader_turns_; }

  // What a job of Parasol wrote to stderr, from the node that ran it. kUnavailable: the node is
  // away.
  using Fetched = std::function<void(Result<std::string>)>;
  void FetchStderr(const std::string& node, JobId job, TaskIndex task, Fetched fn);

  // link::Gate
  std::expected<link::Admission, wire::Refusal> Admit(const link::Guest& guest) override;

  // hub::Watcher
  void OnHubNotice(const engine::Notice& notice) override;
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnNews(const wire::ToHub&) override {}
  void OnNodeState(NodeId node, wire::NodeState state) override {
    nodes_->Tell(node, std::move(state));
  }
  void OnStderrFetched(NodeId node, wire::StderrFetched fetched) override;
  void OnStoreFailed(const Error& error) override;
  bool OnRowsDamaged(JobId job, std::span<const TaskRange> tasks, const Error& error) override;

 private:
  HubService(os::RealLoop& loop, Options options, store::HubDir dir,
             std::unique_ptr<store::SqliteStore> store, transport::Identity identity);
  Status TakeUp();
  void MakeParts();
  Status ReplayAll();
  Status OpenDoor();
  Status OpenMetrics();
  void MeasureLag();
  Status TakeFirstAccess(const HubKeys& keys);
  void Arrived(link::Visitor visitor);
  std::shared_ptr<link::Share> ShareOf(const Caller& caller, wire::Role role);
  std::expected<link::Admission, wire::Refusal> Judge(const link::Guest& guest);
  std::expected<void, wire::Refusal> CheckPlaces(const Caller& caller, wire::Role role) const;
  void Prune();
  void PruneIn(Duration pause);
  void PruneBySize(Duration every);
  void ForgetOldest(uint64_t bytes, Duration every);
  void ForgetNext();
  Result<std::shared_ptr<const JobSettings>> ReadSettings(JobId job) const;
  void TellAccepted(JobId job, const Error* error);
  void TellRevived(JobId job, const Status& status);

  os::RealLoop& loop_;
  const Options options_;
  const store::HubDir dir_;  // keeps others out
  const std::unique_ptr<store::SqliteStore> store_;
  const transport::Identity identity_;
  const Epoch epoch_;
  const Instant since_;
  std::unique_ptr<hub::Hub> hub_;
  std::unique_ptr<HubJobs> jobs_;
  std::unique_ptr<HubAccess> access_;
  std::unique_ptr<HubNodes> nodes_;
  std::vector<os::Address> reached_at_;
  std::string program_;
  std::unique_ptr<link::Door> door_;
  std::unique_ptr<MetricsDoor> metrics_;
  std::array<uint64_t, 5> ends_{};
  Duration lag_{};
  os::TimerId lag_timer_ = 0;
  std::map<uint64_t, std::unique_ptr<HubClient>> clients_;
  uint64_t last_client_ = 0;
  std::multimap<JobId, std::function<void(const Error*)>> awaiting_;
  std::map<JobId, std::vector<std::function<void(Status)>>> reviving_;
  std::set<JobId> growing_;                                         // somebody adds tasks to them
  std::deque<std::pair<JobId, std::function<void()>>> forgetting_;  // the journal has them still
  size_t forgotten_now_ = 0;                                        // that it was told to forget
  ReaderTurns reader_turns_;
  std::map<std::string, std::weak_ptr<link::Share>> shares_;  // by user
  RefusalLog refusals_;
  struct Fetch {
    NodeId from;  // nobody else may answer
    Fetched fn;
  };
  std::map<uint64_t, Fetch> fetching_;  // by FetchStderr::call
  uint64_t last_fetch_ = 0;
  bool stopping_ = false;
  os::TimerId prune_timer_ = 0;
  HubAside aside_{loop_};
};

}  // namespace spate::apps
