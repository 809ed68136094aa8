// RunSession: one `spate run` from an accepted job to its summary. It joins hub, node and executor
// in this process, shows the view what happens, and answers signals:
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

#include "cli/view/run_view.h"
#include "core/model/job.h"
#include "forward/deliverer.h"
#include "hub/hub.h"
#include "node/node.h"
#include "os/real_loop.h"
#include "run/run_entrance.h"
#include "transport/inproc.h"

namespace spate::run {

class RunSession final : public hub::Watcher, public node::ExecutorEvents {
 public:
  struct Job {
    JobId id;
    std::shared_ptr<const JobSettings> settings;
    Offer offer;
    Epoch epoch;
    HaltRule halt;                     // what its hold means for the exit code
    forward::Deliverer::Work forward;  // what tasks forward
    node::Doubt doubt = {};            // of ends, where a batch system may end the run
  };
  // `loop` and `store` outlive the session.
  RunSession(os::RealLoop& loop, store::Store& store, Job job);
  ~RunSession() override;

  // Reads an earlier life of the job back. Before everything else.
  Status Replay() { return hub_.Replay(); }
  const engine::Engine& engine() const { return hub_.engine(); }
  // Ends what that life left leased.
  void Resume() { hub_.Resume(engine::LastNodes::kEnded); }
  void Post(engine::Event event) { hub_.Post(std::move(event)); }
  // Runs the loop until all that was posted is decided and durable. Before Run.
  Status Settle();

  struct Show {
    cli::RunView& view;
    std::function<uint64_t()> backlog;  // bytes that wait for the terminal
  };
  // Runs until the job has ended, is held and idle, or was stopped. `executor` reports to this
  // session. Returns how it ended; the exit code is exit_code().
  cli::RunEnd Run(node::Executor& executor, Show show, std::function<MachineLoad()> sample_load);
  int exit_code() const { return exit_code_; }
  // Zeros before the job is accepted.
  JobCounts counts() const { return hub_.engine().Counts(job_.id).value_or(JobCounts{}); }

  // Starts nothing more and lets tasks end; the view was told why.
  void StopStarting(cli::RunEnd how, int exit_code);
  // Ends what runs, for a reason that the view was told. Also before Run.
  void EndRunning(cli::RunEnd how, int exit_code);

  // Carries out what another terminal orders (a line, run/run_entrance.h).
  RunEntrance::Answer Obey(std::string_view order);
  // How it stands; `open` is the caller's.
  RunNews News() const;
  // Somebody has cancelled the job, or tasks of it, or their deadline has.
  bool cancelled() const { return cancelled_ || MissedDeadline(); }

  // hub::Watcher
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnHubNotice(const engine::Notice& notice) override;
  void OnNews(const wire::ToHub& news) override;
  void OnStoreFailed(const Error& error) override;

  // node::ExecutorEvents: passed on to the node.
  void OnStarted(const AttemptRef& ref, Instant when) override { node_->OnStarted(ref, when); }
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override {
    node_->OnEnded(std::move(end), std::move(output));
  }
  void OnTakenBack(const AttemptRef& ref) override { node_->OnTakenBack(ref); }
  void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) override {
    node_->OnOutput(ref, stream, bytes);
  }
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override { node_->OnMemory(ref, bytes); }
  void OnLeftRunning(const AttemptRef& ref, const std::string& processes) override;

 private:
  void WatchSignals();
  void OnInterrupt();
  void OnTerminalStop();
  void Tick();
  void StopWhenIdle();
  bool Succeeded() const;
  bool MissedDeadline() const;
  uint32_t Running() const;
  RunEntrance::Answer Park();
  RunEntrance::Answer Unpark();
  RunEntrance::Answer Cancel();
  RunEntrance::Answer CancelSome(std::string_view selector);

  os::RealLoop& loop_;
  const Job job_;
  transport::InprocPair<wire::ToNode, wire::ToHub> channels_;
  forward::Deliverer deliverer_;
  const std::unique_ptr<hub::NodeChannel> to_node_;
  hub::Hub hub_;
  std::optional<node::Node> node_;
  node::Executor* executor_ = nullptr;
  std::optional<Show> show_;
  Status failure_;  // of the store
  cli::RunEnd how_ = cli::RunEnd::kFinished;
  int exit_code_ = 0;
  int task_code_ = 0;  // of the last task that failed
  bool interrupted_ = false;
  bool parked_ = false;     // held from another terminal: the run waits for its release
  bool cancelled_ = false;  // all or some tasks, from another terminal
  bool cancelled_job_ = false;
  bool ending_ = false;
  bool output_blocked_ = false;
  os::TimerId tick_ = 0;
};

}  // namespace spate::run
