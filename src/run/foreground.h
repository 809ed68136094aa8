// Foreground: a job that runs in the foreground of a terminal, from its acceptance to its summary.
// It owns the job's hub and hears what becomes of the job, has a view show that, answers signals,
// and decides when the run is over:
//
//   INT once            start nothing more, let tasks end          exit 130
//   INT twice           end what runs (TERM, then KILL)            exit 130
//   TERM, HUP           like the second INT                        exit 143, 129
//   TSTP, CONT          stop and continue all tasks
//   stdout closed       end what runs                              exit 141
//
// The state is kept in every case. Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/model/job.h"
#include "forward/deliverer.h"
#include "hub/hub.h"
#include "os/real_loop.h"
#include "run/local_node.h"
#include "run/run_hub.h"
#include "view/run_view.h"

namespace spate::run {

class Foreground final : public hub::Watcher {
 public:
  struct Job {
    JobId id;
    std::string folder;
    std::string state_dir;
    std::string user;  // whom this process runs as
    std::shared_ptr<const JobSettings> settings;
    Offer offer;
    HaltRule halt;                     // what its hold means for the exit code
    forward::Deliverer::Work forward;  // what tasks forward
    node::Doubt doubt = {};            // of ends, where a batch system may end the run
  };
  // Reads an earlier life of the job back, and writes nothing. `loop` and `store` outlive this.
  static Result<std::unique_ptr<Foreground>> Read(os::RealLoop& loop, store::SqliteStore& store,
                                                  Job job);
  const engine::Engine& engine() const { return hub_->engine(); }
  // Takes the job up, a new one or what that life left; what it left leased is ended. Its row is
  // on its way to the store.
  Status Begin(const store::JobRow& row);
  void Post(engine::Event event) { hub().Post(std::move(event)); }
  // Runs the loop until all that was posted is decided and durable. Before Run.
  Status Settle();

  // Makes the job's node, which starts nothing before Run. `machine` outlives this.
  Status OpenNode(const os::Machine& machine, node::ProcessExecutorOptions tasks);
  const LocalNode& node() const { return *node_; }
  // Runs until the job has ended, is held and idle, or was stopped; what still runs then is ended.
  // Returns how it ended; the exit code is exit_code().
  cli::RunEnd Run(cli::RunView& view);
  // JobFeed::Tick; tasks write nothing while much waits for the terminal.
  uint32_t Tick(uint64_t backlog);
  int exit_code() const { return exit_code_; }
  // Zeros before the job is accepted.
  JobCounts counts() const { return engine().Counts(job_.id).value_or(JobCounts{}); }

  // The journal cannot be written: counts() may be ahead of it.
  bool store_failed() const { return !failure_.has_value(); }

  // Starts nothing more and lets tasks end; the view was told why.
  void StopStarting(cli::RunEnd how, int exit_code);
  // Ends what runs, for a reason that the view was told. Also before Run.
  void EndRunning(cli::RunEnd how, int exit_code);
  // Somebody has cancelled the job, or tasks of it, or their deadline has.
  bool cancelled() const;

  // hub::Watcher
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnHubNotice(const engine::Notice& notice) override;
  void OnNews(const wire::ToHub& news) override;
  void OnStoreFailed(const Error& error) override;

 private:
  Foreground(os::RealLoop& loop, Job job);
  hub::Hub& hub() const { return hub_->service().hub(); }

  // Checks that a run allows what a client asks of the hub; the view hears of changes.
  Status Allow(const wire::Query& query);
  Status AllowChange(const wire::ChangeJobs& asked);
  Status AllowCancel(const wire::Cancel& asked);
  Status AllowSteer(const wire::Steer& asked);
  void Remark(std::string text, bool is_trouble);

  void WatchSignals();
  void OnInterrupt();
  void OnTerminalStop();
  void OnLeftRunning(const AttemptRef& ref, const std::string& processes);
  void TellDelay(Instant now);
  void StopWhenIdle();
  bool Succeeded() const;
  bool MissedDeadline() const;
  void TellStopped();
  // Somebody else holds the job: the run waits for its release.
  bool parked() const;
  uint32_t running() const { return node_ ? node_->running() : 0; }

  os::RealLoop& loop_;
  const Job job_;
  forward::Deliverer deliverer_;
  std::unique_ptr<RunHub> hub_;
  std::unique_ptr<LocalNode> node_;
  cli::RunView* view_ = nullptr;  // while it runs
  Status failure_;                // of the store
  cli::RunEnd how_ = cli::RunEnd::kFinished;
  int exit_code_ = 0;
  int task_code_ = 0;  // of the last task that failed
  bool interrupted_ = false;
  bool stopping_ = false;                   // nothing more is to be started, by this run's own will
  bool ending_ = false;                     // nor is anything to go on
  bool cancelled_job_ = false;              // by a client
  std::optional<uint32_t> cancelled_from_;  // a client cancelled tasks: how many were before
  bool output_blocked_ = false;
  bool delayed_ = false;
};

}  // namespace spate::run
