// The tasks of a run, read whole and checked before anything starts or is stored.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "core/model/body.h"
#include "core/model/graph.h"
#include "core/model/job.h"
#include "core/model/request_table.h"
#include "format/list_line.h"
#include "plan/list_change.h"

namespace spate::cli {

struct TaskList {
  uint32_t count = 0;
  RowSource rows;                   // may be walked several times; keeps the text alive
  std::vector<TaskClass> requests;  // distinct
  std::vector<RequestRun> runs;
  std::vector<std::string> places;  // places[r]: where request r first stands, "jobs.lst:12"
  std::vector<Edge> edges;          // those of a parent are neighbours
  bool forwards = false;            // some of its rows do, by themselves
  bool needs_shell = false;         // some of its rows may need one
  uint32_t known_tasks = 0;         // in the edges the tasks of this list come after so many
};

struct LoadContext {
  // Why a file fails a check, empty when it passes; relative to the run's folder.
  std::function<std::string(CheckKind, const char* file)> why_check_fails;
  int stdin_fd = 0;
  uint32_t slots = 1;            // -X spreads values over so many tasks
  bool run_input_checks = true;  // not for --dry-run
  // The names of the tasks that the job has, where tasks are added to one; empty texts: no name.
  // Asked when the list names tasks.
  std::function<Result<std::vector<std::string>>()> known_names = {};
  bool literal_braces = false;  // of a list that is followed: see CheckPlaceholders
  // Called once, after a second, when a list is still being read from a pipe, or values from a
  // standard input that nobody named. `text` is the report.
  std::function<void(std::string_view text)> on_slow = {};
  bool may_follow = false;  // --follow would start tasks at once
};

// Fails when `beginning`, the first bytes of a list, is a script's. `file`: its path, "-" for
// standard input.
Status CheckNoScript(const RunOptions& options, const std::string& file,
                     std::string_view beginning);

// Reads the job lists or the values that the options name, and fills in what they tell of the
// settings. Errors (kInvalid) hold one line for each problem, with file, line and fix, as many as
// kLimits.list_errors, and count the rest.
Result<TaskList> LoadTaskList(const RunOptions& options, const LoadContext& context,
                              JobSettings& settings);
// The same of a graph of tasks: one DAG file (docs/formats/dag.md).
Result<TaskList> LoadGraph(const RunOptions& options, const LoadContext& context,
                           JobSettings& settings);

// Runs the input checks of the rows that `wanted` names by their position; errors as
// LoadTaskList's, with "task N" as the place. For rows that were found right before.
Status CheckInputs(const RowSource& rows, const std::function<bool(uint32_t position)>& wanted,
                   const LoadContext& context);

// Why an input check of the line fails, all that do; empty when they pass.
std::string WhyInputFails(const format::ListLine& line, const LoadContext& context);
// Needs of the line's task: its own clauses, else the defaults.
Needs NeedsOf(const format::ListLine& line, const Needs& defaults);

// The requests of tasks `first` on, when tasks were added to a list: new requests are numbered
// after those of `before`.
struct GrownRequests {
  std::vector<TaskClass> new_requests;
  std::vector<RequestRun> runs;
};
GrownRequests RequestsOfAdded(const TaskList& list, const std::vector<uint32_t>& added,
                              const std::vector<TaskClass>& before, TaskIndex first);

}  // namespace spate::cli
