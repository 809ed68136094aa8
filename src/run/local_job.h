// LocalJob: a job's folder, journal and engine on this machine, new or from an earlier run, ready
// to be run. Steps: Create or Open, then SetTasks or Resume, then Run (once).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "cli/run/task_list.h"
#include "cli/view/run_view.h"
#include "cli/view/summary.h"
#include "cli/view/terminal_screen.h"
#include "client/surroundings.h"
#include "os/real_loop.h"
#include "run/follower.h"
#include "run/pipe_input.h"
#include "run/run_entrance.h"
#include "run/run_session.h"
#include "run/slots_file.h"
#include "store/sqlite/job_dir.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::run {

using client::HubDirOf;
using client::StateDirOf;
using client::Surroundings;

// Whether commands about jobs speak to a hub when they are not told otherwise.
bool HubIsConfigured(const Surroundings& here);

// Whether the words speak of a hub's jobs: --hub and --access do, --local and --state do not, and
// else they do where a hub is configured.
bool SpeaksOfHub(const cli::Words& words);

// What the machine offers to a run with these options. Slots beyond what open files allow are left
// out (FitOpenFiles tells it).
Offer OfferOf(const cli::RunOptions& options, const Surroundings& here);
// Each slot takes a few open files. Raises this process's limit when many slots ask for it; returns
// how many slots it allows.
uint32_t FitOpenFiles(uint32_t slots);
// Every request must fit into the offer; errors name the first place of each that does not.
Status CheckNeeds(const cli::TaskList& tasks, const Offer& offer);
// Why tasks of the class can never run on one machine with this offer; nullopt: they can.
std::optional<std::string> WhyNeverHere(const Offer& offer, const TaskClass& of_tasks);

// How lists are read for a run with these settings.
cli::LoadContext LoadContextOf(const JobSettings& settings, uint32_t slots, bool run_checks);

class LocalJob {
 public:
  // A new folder for a new job. `argv` is what was typed after "run".
  static Result<std::unique_ptr<LocalJob>> Create(const Surroundings& here,
                                                  const std::string& state_dir,
                                                  const cli::RunOptions& options,
                                                  std::vector<std::string> argv);
  // The folder of an earlier job: its leftovers are ended, its journal is read back. kNotFound
  // when the job was never accepted. `options`: those of its first run with those of now on top,
  // made by `parse` from its first argv.
  using ParseStored = std::function<Result<cli::RunOptions>(const std::vector<std::string>&)>;
  static Result<std::unique_ptr<LocalJob>> Open(const Surroundings& here,
                                                const std::string& state_dir, uint32_t number,
                                                const ParseStored& parse);
  ~LocalJob();

  const cli::RunOptions& options() const { return options_; }
  const store::JobRow& row() const { return row_; }
  const JobSettings& settings() const { return *settings_; }
  JobCounts counts() const { return session_->counts(); }
  // Some of what was cancelled is wanted still: its deadline has cancelled it, or a person.
  bool cancelled() const { return session_->cancelled(); }
  // For commands to type next.
  cli::HintContext hints() const {
    return {.job = id(), .state_dir = options_.state_dir, .beside_hub = HubIsConfigured(here_)};
  }
  const engine::Engine& engine() const { return session_->engine(); }
  JobId id() const { return JobId(dir_.number()); }
  // With those that have left its lists, which are not in its counts.
  uint32_t task_count() const { return engine().TaskCount(id()); }
  os::RealLoop& loop() { return *loop_; }

  // New job: its tasks, and how they run. Durable when Run begins to report.
  void SetTasks(const cli::TaskList& tasks, JobSettings settings, std::vector<TaskIndex> order);
  // Earlier job: rows of its tasks, in order. A walk ends early when they cannot be read, and
  // rows_status() tells why.
  cli::RowSource StoredRows();
  const Status& rows_status() const { return rows_status_; }
  // Earlier job: tasks that are added at the end.
  void AddTasks(const cli::TaskList& tasks, const std::vector<uint32_t>& added,
                std::vector<Edge> edges = {});
  // Earlier job: goes on. Ends what its last run left leased, takes the options of now, and lets a
  // held job go on.
  void Resume();
  void Post(engine::Event event) { session_->Post(std::move(event)); }

  // Of --pipe. A new job: its tasks come with the input. An earlier one: whether all of it was
  // taken; and goes on reading, past what was.
  void SetPipe(JobSettings settings);
  std::string InputFolder() const { return dir_.path() + "/input"; }
  bool InputIsWhole() const {
    return run::InputIsWhole(InputFolder(), std::max(next_task_, task_count()));
  }
  // Says how to go on when it was not.
  void TellRestOfInput() const;
  Status ReadOn();

  // Runs it to its end and shows it. Returns the exit code.
  Result<int> Run(bool resumed);
  // Removes the folder of a job that came to nothing.
  void Discard();

 private:
  // Stores rows of the next tasks.
  void AppendRows(std::vector<std::string> rows);
  // Waits while too much is queued; not from inside the loop.
  void WaitForStore();
  void AddFollowed(std::vector<std::string> rows, const std::vector<Needs>& needs,
                   cli::RunView& view);
  std::unique_ptr<Follower> MakeFollower(cli::RunView& view);
  bool is_pipe() const;
  std::unique_ptr<PipeInput> MakePipeInput(cli::RunView& view);
  void RemoveLateBlocks() const;
  void AddBlocks(std::vector<std::string> rows, cli::RunView& view);
  std::unique_ptr<SlotsFile> WatchSlots(cli::RunView& view);
  void OnTaskEnded(TaskIndex index);
  // Without more input a job that waits for it ends here.
  void StopWithoutInput();
  LocalJob(const Surroundings& here, store::JobDir dir, std::string state_dir)
      : here_(here), dir_(std::move(dir)), state_dir_(std::move(state_dir)) {}
  Status OpenStore();
  void OnBroken(const Error& error);
  // Says where this machine gives less than was asked for.
  void TellBounds(cli::RunView& view, const Offer& offer, bool memory_enforced,
                  const std::string& cgroups);
  void MakeSession();
  std::string RowOf(TaskIndex index);
  Status CompileTexts();
  Status CompileTag();
  Status DeliverLate();
  std::string ForwardsLog() const { return dir_.path() + "/forwards"; }
  Status TakeBackForwards(cli::RunView& view);
  Result<std::unique_ptr<cli::RunView>> MakeView(cli::Screen& screen, bool resumed);
  void PutRow();
  void PutEnd();
  void ShowRest(cli::TerminalScreen& screen);
  Result<std::unique_ptr<RunEntrance>> OpenEntrance();
  std::vector<TaskRange> EndedTasks() const;

  const Surroundings& here_;
  store::JobDir dir_;
  std::string state_dir_;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<store::SqliteStore> store_;
  store::JobRow row_;
  cli::RunOptions options_;
  std::shared_ptr<JobSettings> settings_ = std::make_shared<JobSettings>();
  std::vector<TaskClass> requests_;  // known to the engine, for AddTasks
  std::optional<format::CompiledJob> compiled_;
  cli::ViewTexts texts_;
  std::unique_ptr<RunSession> session_;
  Status rows_status_;
  std::optional<Error> broken_;  // where the run's results go, what cannot be written
  TaskIndex next_task_ = 0;      // number of tasks that were given to the engine
  bool follow_ = false;          // tasks come while it runs
  bool reads_ = false;           // from --pipe
  std::vector<PipeInput::Taken> taken_;
  std::unique_ptr<PipeInput> input_;
};

}  // namespace spate::run
