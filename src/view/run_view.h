// RunView: what a person or a program sees of a run. One interface for all forms (human, json,
// quiet, joblog, results tree); MakeRunView puts those together that the options ask for.
//
// Thread: the loop's. Order: OnStart, then anything, then OnFinish once. A task's last OnEnded
// (its verdict is not kRetry) comes once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/options/run_options.h"
#include "core/engine/record.h"
#include "core/model/attempt.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"
#include "view/screen.h"

namespace spate::cli {

struct RunStart {
  JobId job;
  std::string name;
  uint32_t slots = 0;
  bool open = false;             // more tasks may come (--follow)
  bool resumed = false;          // the job was there before
  JobCounts counts;              // as the run begins
  std::vector<TaskRange> ended;  // tasks that ended before and will not be reported; sorted
  Instant now;
};

struct TaskEnded {
  const AttemptEnd& end;
  engine::Verdict verdict = engine::Verdict::kSucceeded;
  TaskOutputPtr output;  // null: it wrote nothing that was collected
  Instant now;
};

// ---- News: what happens beside ends and output -------------------------------------------------

struct TaskStarted {  // told by json only; others take the number of running tasks from Tick
  AttemptRef ref;
  uint16_t slot = 0;
};
struct TaskSlow {  // it runs longer than --warn-time
  AttemptRef ref;
};
struct TaskExceeded {  // it has used more than it asked for
  AttemptRef ref;
  Excess excess;
};
// Its command has ended, what it left running is waited for; empty `processes`: no longer.
struct TaskLeftRunning {
  AttemptRef ref;
  std::string processes;  // "sort (pid 12)"
};
struct StartsPaused {  // nothing is started for now; empty: it goes on
  std::string reason;
};
struct HoldNews {
  engine::HoldReason reason = engine::HoldReason::kUser;
  uint32_t running = 0;  // tasks that are waited for
  bool ending = false;   // they are being ended
  bool parked = false;   // from another terminal: the run waits until it is released there
};
struct TotalChanged {  // tasks were added, or no more will be
  uint32_t total = 0;
  bool open = false;
};
struct PaceBegins {};  // ends so far were older than the view
struct Remark {        // anything else, without "spate: "; a second line says what to do
  std::string text;
  bool is_error = false;  // shown with --quiet as well
};
using News = std::variant<TaskStarted, TaskSlow, TaskExceeded, TaskLeftRunning, StartsPaused,
                          HoldNews, TotalChanged, PaceBegins, Remark>;

enum class RunEnd : uint8_t {
  kFinished,      // every task has ended
  kHalted,        // --halt or --max-failures
  kInterrupted,   // by a signal
  kOutputClosed,  // nobody reads standard output
  kBroken,        // spate itself could not go on; a Remark has told why
};
struct RunFinish {
  RunEnd how = RunEnd::kFinished;
  JobCounts counts;
  Instant now;
  std::vector<BlamedFacts> blamed = {};  // of a hub's job
};

class RunView {
 public:
  virtual ~RunView() = default;
  virtual void OnStart(const RunStart& start) = 0;
  virtual void OnEnded(const TaskEnded& ended) = 0;
  // stream is 1 or 2. All live bytes of an attempt come before its OnEnded.
  virtual void OnLive(const AttemptRef& ref, int stream, std::string_view bytes) = 0;
  virtual void OnNews(const News& news, Instant now) = 0;
  // Draws the bar when it is time (at most 10 times a second). Call it at least so often.
  virtual void Tick(Instant now, uint32_t running) = 0;
  virtual void OnFinish(const RunFinish& finish) = 0;
};

// The text of tasks. Called only when a view needs it: for failed tasks, --tag, --joblog,
// --results and json; from OnEnded or OnNews, on the loop's thread.
struct ViewTexts {
  std::function<std::string(TaskIndex)> command;              // as people see it
  std::function<std::vector<std::string>(TaskIndex)> values;  // a list's line is one value
  std::function<std::string(TaskIndex)> tag = nullptr;        // --tagstring; null: the values
  std::function<std::string(TaskIndex)> name = nullptr;       // in its list, or empty; may be null
  // Places of tasks in their list, "jobs.lst:5"; empty if not known. May be null.
  std::function<std::vector<std::string>(const std::vector<TaskIndex>&)> places = nullptr;
};

struct ViewParts {
  Screen& screen;
  ViewTexts texts;
  ShowOptions show;
  std::string state_dir;                 // as typed with --state; empty: not typed
  std::vector<std::string> files;        // the job lists, for the command that goes on
  std::vector<std::string> value_names;  // --header
  uint32_t columns = 0;                  // values of one record; 0: all of a task's
  bool append_joblog = false;            // --resume and retry
  std::string cwd;                       // --joblog and --results count from here
  std::string spill_folder;              // for output that is held back; exists, is writable
  bool beside_hub = false;               // a run of this machine, where a hub is configured
  bool on_hub = false;                   // a hub's job
  std::string reach = {};                // what makes commands mean a job of this hub
};

// Errors: --joblog or --results cannot be written (the message names it). A '+' before the file of
// --joblog appends, as in parallel.
// When they fail later, `on_broken` is called once, and the run should stop.
Result<std::unique_ptr<RunView>> MakeRunView(ViewParts parts,
                                             std::function<void(const Error&)> on_broken);

}  // namespace spate::cli
