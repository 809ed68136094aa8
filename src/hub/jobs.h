// Jobs: the life of a hub's jobs around the engine: they are accepted, grow, wait for others, end,
// are unloaded by the engine, taken up again, and removed. What is known of them: KnownJobs.
//
// Thread: the loop's. The owner is the hub's Watcher and passes on what it hears of jobs.
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

#include "hub/aside.h"
#include "hub/credentials.h"
#include "hub/hub.h"
#include "hub/kept_bytes.h"
#include "hub/known_jobs.h"
#include "os/loop.h"
#include "store/hub_store.h"
#include "wire/client_messages.h"

namespace spate::hub {

// A write that takes longer than that is told to all who wait.
inline constexpr Duration kStuckAfter = Duration::Seconds(3);

// Data that must be read before a job is accepted.
struct Readings {
  std::map<JobId, std::vector<TaskRange>> succeeded;  // of jobs that it waits for, task by task
};

class Jobs {
 public:
  struct Parts {
    os::Loop& loop;
    store::HubStore& store;
    Hub& hub;
    Aside& aside;
    WriteLog log;  // a line for whoever looks after the hub
    // So many failures in a row and no success are a job's fault, not its tasks' luck: it is held.
    uint32_t pause_after_failures = 25;
    bool one_job = false;                          // as Service::Options
    std::function<Status()> check_room = nullptr;  // whether the disk has room; null: it has
    // Nodes that are known are away and may come back; null: there are none. Cost: all nodes.
    std::function<bool()> expects_nodes = nullptr;
    // So many are removed at once: with one commit, in between which others' come.
    size_t forgets_at_once = 250;
  };
  // All parts outlive it.
  explicit Jobs(Parts parts);
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // After Hub::Replay: rows, and where settings come from.
  Status Load(KnownJobs::PublicRule rule = nullptr);
  // The hub ends: rows are written, and nothing is removed any more.
  void Stop();

  os::Loop& loop() const { return parts_.loop; }
  Hub& hub() const { return parts_.hub; }
  const engine::Engine& engine() const { return parts_.hub.engine(); }
  store::HubStore& store() const { return parts_.store; }
  uint32_t pause_after_failures() const { return parts_.pause_after_failures; }
  bool one_job() const { return parts_.one_job; }
  // kExhausted: nothing new is accepted (hub/disk_watch.h).
  Status CheckRoom() const { return parts_.check_room ? parts_.check_room() : Status(); }
  bool ExpectsNodes() const { return parts_.expects_nodes && parts_.expects_nodes(); }
  KnownJobs& known() { return known_; }
  const KnownJobs& known() const { return known_; }
  KeptBytes& kept() { return kept_; }
  // Ends of attempts in this life, by engine::Verdict.
  static constexpr size_t kVerdicts = kCountOf<Verdict>;
  // Attempts in this life, by verdict.
  const std::array<uint64_t, kVerdicts>& ends() const { return ends_; }
  // Ended attempts whose nodes were lost.
  uint64_t lost_ends() const { return lost_ends_; }

  // Checks that the caller may look into the job, and change it.
  Status CheckRight(const Caller& caller, JobId job) const;
  // The same, and that the job is not set aside (KnownJobs::Job::damage).
  Status CheckUsable(const Caller& caller, JobId job) const;
  // How a job is now, for who watches it.
  wire::JobNews NewsOf(JobId job, uint32_t nodes_joined);

  // The job with this name of a submission, accepted or on its way. nullopt: none. kBusy: one that
  // is being removed, whose name is not free yet.
  Result<std::optional<JobId>> FindSubmission(const std::string& submission) const;
  // When the job is durable (nullptr), or was refused.
  void WhenAccepted(JobId job, std::function<void(const wire::Failed*)> fn);
  // When what was posted before has become durable.
  void WhenSettled(std::function<void()> fn);
  // Aside, in the user's turn; `done` is called later.
  void ReadFor(std::vector<JobId> jobs, const std::string& user,
               std::function<void(Result<Readings>)> done);
  // True if a job that waits for each task of this one needs its readings.
  bool IsPast(JobId job) const;
  // How jobs that it waits for ended, where the engine has unloaded them.
  Status FillOutcomes(engine::SubmitJob& event, const Readings& readings) const;
  // The first task that may be added to a job now. kInvalid: tasks of these settings are not such
  // as it has. kBusy: somebody adds tasks to it.
  Result<TaskIndex> BeginGrow(JobId job, const JobSettings& added);
  void EndGrow(JobId job) { growing_.erase(job); }
  bool Grows(JobId job) const { return growing_.contains(job); }
  // Removes a job that came only in part, or is refused.
  void DropUpload(JobId job);
  // Has tasks that have ended done again, and the job go on. It is there (Revive).
  void Reopen(JobId job, std::vector<TaskRange> tasks, NeedsChange change, bool succeeded = false);
  // Removes a finished job and all that is kept of it.
  void ForgetJob(JobId job, std::function<void()> done);
  // Frees the memory of a finished job, unless it goes on meanwhile, or there is no other; the
  // journal keeps it.
  void UnloadSoon(JobId job);
  // Takes a job up again that was unloaded, aside, in the user's turn; `done` is called
  // later, and the job is there until the next turn of the loop at least.
  void Revive(JobId job, const std::string& user, std::function<void(Status)> done);
  // Changes the policy that the job has when all is done that was posted before; posts that. It is
  // there, and has not ended.
  void ChangePolicy(JobId job, const std::function<void(JobPolicy&)>& change);
  // The same of a user's rule, which is returned. kInvalid, as ChangeOf says: nothing is changed.
  Result<UserRule> ChangeUser(const std::string& user, const UserChange& change);
  // The user or group has limits of its own, or is about to.
  bool KnowsRule(const std::string& user) const;
  // A job is held while what waits of it is withdrawn, unless it is held anyway. When that is over
  // it is let go, but for one that its user has held meanwhile (KeepHold).
  void BeginWithdraw(JobId job);
  void EndWithdraw(JobId job);
  void KeepHold(JobId job) { withdrawing_.erase(job); }
  // Changes a finished job that is about to be resumed. kBusy: it has not finished.
  Status ChangeSettings(JobId job, const std::function<void(JobSettings&)>& change);

  // From the journal. kCorrupt: they are damaged.
  Result<std::shared_ptr<const JobSettings>> ReadSettings(JobId job) const;

  // Called like hub::Watcher's functions.
  void OnHubNotice(const engine::Notice& notice);
  void OnEnded(const engine::NoticeEnded& notice);
  void OnHeld(const engine::NoticeHeld& notice);
  void OnFinished(const engine::NoticeFinished& notice);
  void OnRowsDamaged(JobId job, const Error& error);

 private:
  void ReadKept(const std::string& user, std::set<JobId> arriving,
                std::function<void(Result<uint64_t>)> done);
  void ForgetNext();
  void TellAccepted(JobId job, const wire::Failed* failed);
  void TellRevived(JobId job, const Status& status);

  const Parts parts_;
  KnownJobs known_;
  KeptBytes kept_{[this](const auto& user, auto arriving, auto done) {
    ReadKept(user, std::move(arriving), std::move(done));
  }};
  std::array<uint64_t, kVerdicts> ends_{};
  uint64_t lost_ends_ = 0;
  std::multimap<JobId, std::function<void(const wire::Failed*)>> awaiting_;
  std::map<JobId, std::vector<std::function<void(Status)>>> reviving_;
  std::set<JobId> growing_;      // somebody adds tasks to them
  std::set<JobId> withdrawing_;  // held for that alone
  // Changes that were posted and not stepped.
  std::map<JobId, JobPolicy> next_policies_;
  std::map<std::string, UserRule> next_rules_;
  std::deque<std::pair<JobId, std::function<void()>>> forgetting_;  // the journal has them still
  size_t forgotten_now_ = 0;                                        // that it was told to forget
  bool stopping_ = false;
};

}  // namespace spate::hub
