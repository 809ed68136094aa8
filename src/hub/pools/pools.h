// Pools: the pools of a hub: the provision machine over the hub's journal. News of nodes, of tasks
// and of batch systems become events; one step takes all that came in one turn of the loop; its
// records are committed, and only then its asks are carried out, in order.
//
// Thread: the loop's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "access/access_file.h"
#include "core/model/pool_facts.h"
#include "core/provision/provisioner.h"
#include "hub/hub.h"
#include "hub/nodes.h"
#include "hub/pools/batch_caller.h"
#include "hub/pools/commands.h"
#include "hub/pools/pilot_access.h"
#include "os/loop.h"
#include "store/hub_store.h"
#include "wire/questions.h"

namespace spate::hub {

class Pools {
 public:
  struct Parts {
    os::Loop& loop;
    store::HubStore& store;
    Hub& hub;
    Nodes& nodes;
    Commands& commands;
    WriteLog log;
  };
  struct Here {
    std::string dir;      // of the hub, absolute
    std::string user;     // whom the hub runs as
    std::string program;  // spate
    PilotAccess access;
    Duration keep;        // so long what happened to pools is told
    Duration lost_after;  // a node that has been away for so long will not come back
    size_t records = kLimits.pool_records;  // of the journal, until an image replaces them
    uint32_t owner = 0;                     // the number of that user; 0: root
    // How others reach the hub. Empty: by its socket alone.
    std::function<std::vector<os::Address>()> reached_at;
  };
  Pools(Parts parts, Here here);
  ~Pools();
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;

  // Takes up what an earlier life left. Pools whose records are damaged are told, and gone: they
  // are no reason to keep jobs waiting.
  void Load();
  // After the hub's own.
  void Resume();
  void Stop();
  // Removes all pools; `done` is called when their pilots have gone, or `patience` is over.
  void CloseAll(Duration patience, std::function<void()> done);

  // ---- News ----
  // The engine has stepped: there may be other demand.
  void Stirred();
  // Rights of a guest who says that it is a pilot's node; nullopt: it is no pilot's.
  std::optional<std::expected<Caller, wire::Refusal>> Who(const Guest& guest) const;
  // True if nodes of this name are pilots of some pool.
  bool OwnsName(const std::string& name) const;
  void NodeJoined(NodeId node, provision::PilotId pilot, const Offer& offer);
  void NodeAway(NodeId node);
  enum class Went : uint8_t { kTookLeave, kLost };
  void NodeGone(NodeId node, Went went = Went::kTookLeave);
  // It has told how it is; some times in a minute.
  void NodeTold(NodeId node);

  // ---- People ----
  // `done` with what would be submitted, when the pool is durable (or, of a dry run, was tried).
  using Tried = std::function<void(Result<PoolTrial>)>;
  void Add(const Caller& caller, const wire::AddPool& asked, Tried done);
  void Try(const Caller& caller, const std::string& name, Tried done);
  // It is durable, and its asks are on their way, when WhenDurable says so.
  Status Change(const Caller& caller, const wire::ChangePools& asked);
  void WhenDurable(std::function<void()> fn);
  Result<std::vector<PoolFacts>> Describe(const Caller& caller,
                                          const std::vector<std::string>& names, bool pilots) const;
  Result<std::vector<PoolEvent>> Log(const Caller& caller, const std::string& name,
                                     uint32_t most) const;
  // The end of what a pilot has written, also of some that are over.
  void ReadOutput(const Caller& caller, const std::string& name, provision::PilotId pilot,
                  std::function<void(Result<std::string>)> done);
  // Actions, for such tasks, of the pools that serve this user.
  Why Explain(const std::string& user, const TaskClass& of_tasks) const;
  // Why a job does not go on, when the engine alone knows only `stalled` (empty: nothing).
  Why WhyStalled(JobId job, Why stalled) const;
  size_t count() const { return names_.size(); }
  uint64_t Digest() const { return machine_.Digest(); }  // of what a replay must give again
  void CheckInvariants() const { machine_.CheckInvariants(); }
  // By state (PilotFacts::state).
  std::map<std::string, uint64_t> CountPilots() const;

 private:
  struct Unreleased {
    std::vector<provision::Ask> asks;
    std::vector<provision::PilotId> ended;
    std::vector<provision::PoolId> forgotten;
    std::vector<provision::PilotQueuedAgain> queued_again;
    std::vector<std::function<void()>> waiting;
    bool durable = false;
  };
  struct PilotEntry {
    provision::PoolId pool;
    bool joined = false;
    bool leaving = false;
    std::set<NodeId> nodes;
  };

  struct PilotNode {
    provision::PilotId pilot;
    std::optional<bool> busy;  // as the machine was told
    uint64_t ended = 0;        // attempts, when it was told last
    std::optional<Instant> away;
  };

  void Post(provision::Event event);
  void ScheduleStep();
  void StepNow();
  void Handle();
  void Release();
  // Keeps the parts of records that the shell itself remembers.
  void Note(const provision::Record& record, Unreleased& entry);
  void SetPolicy(provision::PoolId pool, const PoolPolicy& policy);
  void Cut();
  void TakeUpNodes();
  void AwaitEmpty(Instant until, std::function<void()> done);
  void TellDemand();
  // While there is no pool nobody looks at demand: for a first one what is known is of long ago.
  void TellFirstDemand();
  // Tells the engine what nodes of the pools will have, if that is news.
  void TellNodesToCome();

  void Carry(std::vector<provision::Ask> asks);
  void LetGo(provision::PilotId pilot);
  void TellBusy(NodeId node, PilotNode& known);
  void EndIfEmpty(NodeId node);
  void Dismiss(NodeId node, const std::string& why);
  void ForgetSoon(NodeId node);
  void PilotGone(provision::PilotId pilot, provision::PoolId pool);
  // Nodes of its earlier run that are away will not come back: their tasks may run elsewhere.
  void LoseAway(const provision::PilotQueuedAgain& pilot);
  // "short.3" is of pilot 3, if there is a pool short.
  std::optional<provision::PilotId> PilotOfName(const std::string& name) const;
  std::string AccessText(provision::PilotId pilot, provision::PoolId pool) const;

  bool is_root() const { return here_.owner == 0; }
  std::string FolderIn(const std::string& home, const std::string& pool) const;
  Result<PoolPolicy> NewPolicy(const Caller& caller, const wire::AddPool& asked) const;
  void AddIn(const std::string& folder, const Caller& caller, wire::AddPool asked, Tried done);
  void Compare(const PoolPolicy& policy, const wire::AddPool& asked,
               std::function<void(std::vector<PoolDifference>)> done);
  void TryNew(const PoolPolicy& policy, const wire::AddPool& asked,
              std::vector<PoolDifference> differences, Tried done);
  std::vector<os::Address> AddressesOf(const PoolSettings& settings) const;
  Status CheckReach(const PoolPolicy& policy) const;
  static Status CheckServes(const PoolPolicy& policy);
  Status CheckPlaces(const Caller& caller) const;
  bool MaySee(const Caller& caller, const PoolPolicy& policy) const;
  bool MayChange(const Caller& caller, const PoolPolicy& policy) const;
  // kPermission: others may not do `what` ("test it").
  Status CheckOwn(const Caller& caller, const PoolPolicy& policy, std::string_view what) const;
  Result<std::vector<provision::PoolId>> Find(const Caller& caller,
                                              const std::vector<std::string>& names) const;
  PoolFacts FactsOf(const provision::PoolInfo& info, bool pilots) const;
  PilotFacts FactsOf(const provision::PilotInfo& pilot) const;
  Reason StateReason(const std::string& name, provision::PoolId pool,
                     const provision::PoolInfo& info) const;
  Status ChangeOne(provision::PoolId pool, const wire::ChangePools& asked, const Caller& caller);

  const Parts parts_;
  const Here here_;
  const std::string tag_;
  BatchCaller caller_;
  provision::Provisioner machine_;
  std::vector<provision::Event> events_;
  provision::Output out_;
  std::deque<Unreleased> unreleased_;
  std::map<std::string, provision::PoolId> names_;
  std::map<provision::PilotId, PilotEntry> pilots_;
  std::map<NodeId, PilotNode> nodes_;           // that have joined, and not gone
  std::vector<std::function<void()>> waiting_;  // for the next step's records
  size_t records_ = 0;                          // since the last cut
  bool step_scheduled_ = false;
  bool releasing_ = false;
  bool resumed_ = false;
  bool watches_ = false;   // demand
  bool reshaped_ = false;  // a pool, since the engine was told of them
  bool stopped_ = false;
  os::TimerId timer_ = 0;
  os::TimerId cut_timer_ = 0;
  os::TimerId demand_timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Adds what the pools do to the reasons of an engine, in the place of "no node of theirs is there".
void AppendPools(Why& to, Why pools);

}  // namespace spate::hub
