// KnownJobs: what a hub knows of its jobs beside the engine: whose they are, how far they have
// come, and who wants to be told.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/engine/engine.h"
#include "os/loop.h"
#include "store/hub_store.h"

namespace spate::hub {

class KnownJobs {
 public:
  struct Job {
    std::string user;
    std::string name;  // for people, cut
    Instant since;     // its start, by the loop's clock; 0: not known
    JobCounts counts;
    bool accepted = false;
    bool finished = false;
    bool started = false;
    std::optional<Instant> ended;  // of a finished one
    engine::HoldReason held = engine::HoldReason::kNone;
    JobCounts counted_from;                 // see ResetCounts
    Why stalled;                            // see WhyStalled
    Instant looked;                         // when that was found out
    Instant idle_since = Instant::Never();  // at such looks: tasks are queued, and none runs
    // JobHabits::public_tasks, of one that has not finished. nullopt: its settings tell (IsPublic).
    mutable std::optional<bool> is_public = false;
    std::string damage;  // it was set aside (HubStore::damaged); nothing else of it is sure
  };
  // kWritten: progress is written down now and then, so that lists need not count. kOfOwner: who
  // owns the hub writes the rows.
  enum class Rows : uint8_t { kWritten, kOfOwner };
  // All outlive it.
  KnownJobs(os::Loop& loop, store::HubStore& store, const engine::Engine& engine,
            Rows rows = Rows::kWritten);
  ~KnownJobs();

  // Jobs that have not finished, and damaged ones. All others stay in the journal alone.
  // `rule` tells of a kind of rows whether such jobs are public; null: none is.
  using PublicRule = std::function<bool(RowKind)>;
  Status Load(PublicRule rule = nullptr);
  // True if everybody sees its needs and tasks. Reads the settings of a job of the hub's earlier
  // life, once.
  bool IsPublic(JobId id, const Job& job) const;
  // One that has finished is read from the journal; it lives in this turn of the loop.
  const Job* Find(JobId job) const;
  // For Finds that follow in this turn of the loop: reads the first so many of these jobs at once.
  void Prepare(JobId first, JobId last, size_t most) const;
  std::optional<JobId> NewestOf(const std::string& user) const;
  // The first so many that were accepted, ascending.
  std::vector<JobId> Between(JobId first, JobId last, size_t most) const;
  std::vector<JobId> AllJobs() const;
  // The same without those that have finished, which may be many.
  std::vector<JobId> UnfinishedOf(const std::string& user, bool everybody) const;
  // The engine's facts about them, by number: for questions, for which a job that is not durable
  // yet does not exist. Find knows each of these.
  std::vector<engine::JobInfo> Unfinished() const;
  // So many of these at most, from the first one that is not before `from`. Cost: theirs.
  std::vector<JobId> UnfinishedFrom(JobId from, size_t most) const;
  // At least as many as have not finished.
  size_t unfinished() const { return jobs_.size(); }

  void Add(JobId job, std::string user);
  void SetName(const store::JobRow& row);
  void SetPublic(JobId job) { jobs_.at(job).is_public = true; }
  void Drop(JobId job);  // it was not accepted
  // While it is being removed from the journal it is not there for anybody.
  void Hide(JobId job, bool hidden);
  bool IsHidden(JobId job) const { return hidden_.contains(job); }
  void Accepted(JobId job);
  void Changed(JobId job);
  void Held(JobId job, engine::HoldReason reason);
  void Finished(JobId job, const JobCounts& counts);
  void Reopened(JobId job);
  // `counted_from` is now, for those who tell of ends since then; forgotten with the hub's life.
  void ResetCounts(JobId job);
  // Those that it was called for, as UnfinishedFrom.
  std::vector<JobId> WithResetCounts(JobId from, size_t most) const;
  // Current counts of a job in the engine: leased tasks that wait for their turn on their nodes
  // count as queued. While the job is held all leased ones count, because these may still start.
  std::optional<JobCounts> Counts(JobId job) const;
  // How many of so many leased tasks of a job run; nullopt: that is not known yet.
  using CountRunning = std::function<std::optional<uint32_t>(JobId job, uint32_t leased)>;
  void SetCountRunning(CountRunning count) { count_running_ = std::move(count); }
  // The reason why a job that is not held cannot continue by itself, or why none of its tasks has
  // been started for kIdleFor; empty: none. At most half a second old.
  const Why& WhyStalled(JobId job);
  // Other parts add to the engine's reason.
  using AddReasons = std::function<Why(JobId job, Why stalled)>;
  void SetAddReasons(AddReasons add) { add_reasons_ = std::move(add); }
  // Finished jobs that ended before `when`: those that did first. An empty user: of all.
  std::vector<JobId> EndedBefore(Instant when, size_t most, const std::string& user = {}) const;
  // Loop::ToWall has changed: rewrites the starts, so that they agree with later ends.
  void ClockStepped();
  // Writes down what is not yet; before the hub ends.
  void Flush();

  // `fn` is called soon after something about the job has changed, WhyStalled included, and at once
  // when it finished. Per kTellEvery, kTellsOfUser listeners of a user are called, others later.
  // `fn` changes nothing in the hub. An empty `user`: an administrator, without this bound.
  using Listener = std::function<void()>;
  uint64_t Listen(JobId job, std::string user, Listener fn);
  size_t ListenersOf(const std::string& user) const;
  static constexpr size_t kListenersOfUser = 4'096;
  static constexpr size_t kTellsOfUser = 256;
  static constexpr Duration kTellEvery = Duration::Millis(20);
  void Unlisten(uint64_t id);

 private:
  struct Listening {
    JobId job;
    std::string user;
    Listener fn;
    bool is_untold = false;  // it is in untold_
  };
  void Notify(JobId job);
  void TellListener(uint64_t id);
  void TellChanged();
  void Schedule();
  void LookAtWaiting();
  bool HasStarted(JobId job, const JobCounts& counts) const;
  void Leave(JobId job);
  Job FromRow(const store::JobRow& row) const;
  std::optional<Job> Read(JobId job) const;
  std::optional<Job> FromJournal(const store::JobRow& row) const;
  const Job* Cache(JobId id, Job job) const;

  os::Loop& loop_;
  store::HubStore& store_;
  const engine::Engine& engine_;
  const Rows rows_;
  PublicRule public_rule_;
  std::map<JobId, Job> jobs_;                // until their end is durable, and damaged ones
  mutable std::map<JobId, Job> past_;        // what Find read in this turn of the loop
  std::map<JobId, JobCounts> counted_from_;  // of those that ResetCounts was called for
  std::multiset<JobId> hidden_;              // once for each time
  std::set<JobId> changed_;                  // since listeners were told
  std::set<JobId> unwritten_;
  std::map<uint64_t, Listening> listeners_;
  std::set<std::pair<JobId, uint64_t>> by_job_;
  std::map<std::string, size_t> listeners_of_;  // by user
  std::map<std::string, size_t> told_;          // calls by user, since the last tick
  std::deque<uint64_t> untold_;                 // listeners beyond kTellsOfUser, oldest first
  uint64_t last_listener_ = 0;
  os::TimerId tell_timer_ = 0;
  os::TimerId write_timer_ = 0;
  AddReasons add_reasons_;
  CountRunning count_running_;
  os::TimerId look_timer_ = 0;  // while there are listeners
  mutable os::TimerId past_timer_ = 0;
  JobId last_looked_;
};

}  // namespace spate::hub
