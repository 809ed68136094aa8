// PreparedJob: a job's folder, journal and engine on this machine, new or from an earlier run,
// ready to be run. Steps: Create or Open, then SetTasks or Resume, then Run (once).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "client/submission.h"
#include "client/surroundings.h"
#include "os/real_loop.h"
#include "plan/task_list.h"
#include "run/foreground.h"
#include "run/pipe_input.h"
#include "run/whose_jobs.h"
#include "store/sqlite/job_dir.h"
#include "store/sqlite/sqlite_store.h"
#include "view/summary.h"

namespace spate::run {

using client::Surroundings;

class PreparedJob {
 public:
  // A new folder for a new job.
  static Result<std::unique_ptr<PreparedJob>> Create(const Surroundings& here,
                                                     const std::string& state_dir,
                                                     const cli::RunOptions& options);
  // The folder of an earlier job: its leftovers are ended, its journal is read back. kNotFound
  // when the job was never accepted. `options`: those of its first run with those of now on top,
  // made by `parse` from its first argv.
  using ParseStored = std::function<Result<cli::RunOptions>(const std::vector<std::string>&)>;
  static Result<std::unique_ptr<PreparedJob>> Open(const Surroundings& here,
                                                   const std::string& state_dir, uint32_t number,
                                                   const ParseStored& parse);
  ~PreparedJob();

  const Surroundings& here() const { return here_; }
  const std::string& state_dir() const { return state_dir_; }
  const store::JobDir& dir() const { return dir_; }
  store::SqliteStore& store() const { return *store_; }
  Foreground& foreground() const { return *run_; }
  const cli::RunOptions& options() const { return options_; }
  const store::JobRow& row() const { return row_; }
  const JobSettings& settings() const { return *settings_; }
  JobCounts counts() const { return run_->counts(); }
  // Some of what was cancelled is wanted still: its deadline has cancelled it, or a person.
  bool cancelled() const { return run_->cancelled(); }
  // For commands to type next.
  cli::HintContext hints() const {
    return {.job = id(), .state_dir = options_.state_dir, .beside_hub = HubIsConfigured(here_)};
  }
  const engine::Engine& engine() const { return run_->engine(); }
  JobId id() const { return JobId(dir_.number()); }
  // With those that have left its lists, which are not in its counts.
  uint32_t task_count() const { return engine().TaskCount(id()); }
  // Tasks that were given to the engine, though it may not have taken the last ones yet.
  uint32_t given() const { return next_task_; }
  // Known to the engine.
  const std::vector<TaskClass>& requests() const { return requests_; }
  os::RealLoop& loop() const { return *loop_; }

  // New job: as it is submitted; of --pipe without tasks, for they come with the input. Durable
  // when Run begins to report.
  Status SetTasks(client::Submission job);
  // Earlier job: rows of its tasks, in order. A walk ends early when they cannot be read, and
  // rows_status() tells why.
  cli::RowSource StoredRows();
  const Status& rows_status() const { return rows_status_; }
  // Earlier job: tasks that are added at the end.
  void AddTasks(const cli::TaskList& tasks, const std::vector<uint32_t>& added,
                std::vector<Edge> edges = {});
  // Earlier job: goes on. Ends what its last run left leased, takes the options of now, and lets a
  // held job go on. `first` happens before that: --max-failures counts the tasks that it removes
  // or reopens.
  Status Resume(std::optional<engine::Event> first = {});
  void Post(engine::Event event) { run_->Post(std::move(event)); }

  // Tasks come while it runs: adds some.
  bool open() const { return open_; }
  void Grow(std::vector<std::string> rows, const std::vector<Needs>& needs);
  // So much is queued that nothing more should be added.
  bool StoreIsFull() const;
  // At most so many tasks run at once from now on.
  void SetMostRunning(uint32_t slots);

  // For --pipe. An earlier job continues to read after what was taken, unless all was.
  bool is_pipe() const;
  bool reads() const { return reads_; }
  std::vector<PipeInput::Taken> DrainTaken() { return std::move(taken_); }
  std::string InputFolder() const { return dir_.path() + "/input"; }
  bool InputIsWhole() const {
    return run::InputIsWhole(InputFolder(), std::max(next_task_, task_count()));
  }
  // Says how to go on when it was not.
  void TellRestOfInput() const;
  Status ReadOn();

  // The log of what its tasks have forwarded; removed once the job has finished.
  std::string ForwardsLog() const { return dir_.path() + "/forwards"; }
  // Writes down how far it has come.
  void PutEnd();
  // Removes the folder of a job that came to nothing.
  void Discard();

 private:
  // Stores rows of the next tasks; AppendAll waits meanwhile, and is not called inside the loop.
  void AppendRows(std::vector<std::string> rows);
  void AppendAll(const cli::RowSource& source);
  // Waits while too much is queued; not from inside the loop.
  void WaitForStore();
  PreparedJob(const Surroundings& here, store::JobDir dir, std::string state_dir)
      : here_(here), dir_(std::move(dir)), state_dir_(std::move(state_dir)) {}
  Status OpenStore();
  // The hub of the job, over its journal as it is.
  Status ReadJournal();
  void PutRow();

  const Surroundings& here_;
  store::JobDir dir_;
  std::string state_dir_;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<store::SqliteStore> store_;
  store::JobRow row_;
  cli::RunOptions options_;
  std::shared_ptr<JobSettings> settings_ = std::make_shared<JobSettings>();
  std::vector<TaskClass> requests_;  // known to the engine, for AddTasks
  std::unique_ptr<Foreground> run_;
  Status rows_status_;
  TaskIndex next_task_ = 0;  // number of tasks that were given to the engine
  bool open_ = false;        // tasks come while it runs
  bool reads_ = false;       // from --pipe
  std::vector<PipeInput::Taken> taken_;
};

// The prepared job runs to its end, and is shown meanwhile. `resumed`: results that its last run
// did not bring are delivered first. Returns the exit code.
Result<int> RunToEnd(PreparedJob& job, bool resumed);

}  // namespace spate::run
