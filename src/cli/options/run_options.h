// Everything that a person types for `spate run` and `spate job retry`, understood.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/options/array_numbers.h"
#include "cli/options/job_words.h"
#include "cli/options/values.h"
#include "cli/options/words.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/needs.h"

namespace spate::cli {

SPATE_ENUM(OutputForm, kHuman, "human", kJson, "json", kQuiet, "quiet");
enum class TrimRule : uint8_t { kNone, kLeft, kRight, kBoth };
SPATE_ENUM(ListFormat, kBySuffix, "", kList, "list", kDag, "dag");
SPATE_ENUM(TaskOrder, kGiven, "given", kShuffle, "shuffle", kLongest, "longest");

// Input that is cut into pieces, one for each task.
struct InputOptions {
  enum class From : uint8_t { kNone, kPipe, kParts } from = From::kNone;  // --pipe, --pipepart
  uint64_t block = 0;                                                     // bytes; 0: not given
  uint32_t per_slot = 0;  // --block -N: parts for each slot; 0: not given
  std::string recstart;
  std::string recend = "\n";
  bool recend_given = false;
  bool round_robin = false;
  bool any() const { return from != From::kNone; }
};

struct SourceOptions {
  std::vector<std::string> files;  // job lists, or one graph; "-" is standard input
  ListFormat format = ListFormat::kBySuffix;
  std::vector<std::string> command;  // after `--`, untouched: template, ":::" and values
  bool has_command = false;
  std::vector<std::string> arg_files;   // -a, "-" is standard input
  std::vector<std::string> json_files;  // --json-lines, the same
  bool null_separated = false;
  std::string delimiter;             // what values in files end with; empty: lines
  std::string colsep;                // empty: none
  bool csv = false;                  // --csv; colsep is then empty or one character
  bool header = false;               // --header :
  uint32_t max_args = 0;             // 0: not given
  bool fill = false;                 // -X
  std::optional<TrimRule> trim;      // not given: both ends with --colsep, else none
  bool follow = false;               // --follow or --follow-until
  std::string follow_until;          // the line that ends each list; empty: none
  std::vector<std::string> targets;  // --target; empty: all tasks
  bool resident = false;             // tasks are given to processes of `command`, which stay
  std::optional<ArrayNumbers> array;
  InputOptions input;

  // The tasks are a graph's (a DAG file).
  bool is_graph() const;
};

struct ShowOptions {
  OutputForm form = OutputForm::kHuman;
  bool keep_order = false;
  bool tag = false;
  std::string tag_text;  // --tagstring; empty: the values
  bool line_buffer = false;
  bool bar = true;
  std::string joblog;           // empty: none
  std::string results_dir;      // a folder, or a file for a table (.csv, .tsv, .json); empty: none
  bool append_results = false;  // --append: tasks may share a folder below results_dir
};

struct RunOptions {
  SourceOptions sources;
  ShowOptions show;
  bool is_submit = false;             // spate submit or job add, not run
  std::string verb = "run";           // what reads the lists: "submit", "job add 12"
  std::vector<std::string> profiles;  // as typed; what they hold was put before what is typed
  bool resume = false;
  bool dry_run = false;
  bool literal_braces = false;  // what looks like a mistyped placeholder is text
  bool hub = false;             // --hub: not on this machine
  std::string access;           // --access as typed

  SlotRule slots;
  bool slots_given = false;
  std::string slots_file;  // -j FILE, as typed; `slots` is then what it holds, once it was read
  bool cpus_given = false;
  bool leftovers_given = false;
  TaskOrder order = TaskOrder::kGiven;
  LoadBound max_load;
  std::vector<NamedOffer> offers;  // sorted by name; the last --offer of a name counts

  Needs needs;                  // --cpus, --memory, --gpus, --resource, --time
  GangShape gang;               // --procs, --nodes, --procs-per-node, --whole-nodes, --start
  uint32_t procs_per_node = 0;  // as typed, which `gang` has already; 0: not given
  bool start_typed = false;     // --start
  // --start mpi and pmix: how its processes find each other
  GangPart::Meets meets = GangPart::Meets::kNot;
  BoundBy bound = BoundBy::kUnknown;
  std::string deadline_text;        // --deadline as typed; empty: none
  std::optional<Instant> deadline;  // what it means, once SetDeadline was called
  JobPolicy policy;                 // tries, halt, failures
  JobSettings settings;   // all of it that is typed; cwd, rows and command are the caller's
  std::string cwd;        // --cwd as typed; empty: where spate was started
  bool pipefail = false;  // --pipefail; settings.shell has it already
  bool no_ulimits = false;

  uint64_t keep_output = kKeepOutput;
  std::string state_dir;  // --state; empty: by the environment
  HistoryBound keep;
};

// `words` of a command that describes tasks: what stands in the options' rows is filled, and what
// is not meant together is refused. For a job retry the words before `--` are selectors and do not
// land in sources.files.
Result<RunOptions> MakeRunOptions(const Words& words);

// The options of a resumed run: the words after "run" that the first run had, and those given
// now, on top. Of an option given twice the last counts, --env, --resource and --offer by name;
// files or a command given now replace the stored ones. --resume and --dry-run of the
// first run do not count. Errors name the option.
Result<RunOptions> ParseRun(std::span<const std::string> stored, std::span<const std::string> given,
                            const Command& given_command = kRunWords);
// The same for `run --resume` and `job retry`: how the first run was shown (--output, --no-bar) is
// no property of the job. That stands in `given`, else in `preset`, of which nothing else counts.
Result<RunOptions> ParseAgain(std::span<const std::string> stored,
                              std::span<const std::string> preset,
                              std::span<const std::string> given, const Command& given_command);

// The class of tasks with these needs, else as the options say.
TaskClass ClassOf(const RunOptions& options, Needs needs);
inline TaskClass ClassOf(const RunOptions& options) { return ClassOf(options, options.needs); }

// Checks that belong to a new run: there must be something to run, in one of the forms.
Status CheckSources(const RunOptions& options);
// The first option there is about values, as "--colsep"; empty: none.
std::string_view OptionOfValues(const SourceOptions& sources);
// ":::" or another word that begins a source of values.
std::optional<std::string> ValueSeparatorIn(const std::vector<std::string>& words);

// ---- What the engine and the node get ----------------------------------------------------------

// The processors that the run offers: `cores`, or as many as -j asks for when only -j was given.
uint32_t OfferedMilliCpus(const RunOptions& options, uint32_t cores);
// --max-load as a number.
double MaxLoad(const RunOptions& options, uint32_t cores);
// The typed settings with those that depend on the machine. `cwd` is absolute: where spate was
// started; --cwd, when relative, counts from there.
JobSettings SettingsOf(const RunOptions& options, std::string_view cwd, uint32_t cores);

// Slots that a run with -j FILE offers: more than the file may ask for now.
inline constexpr uint32_t kSlotsOfFile = 256;
// Slots of a run: what -j says, or kSlotsOfFile.
uint32_t OfferedSlots(const RunOptions& options, uint32_t cores);

// The job's name: --name, else its lists, else its command as one would type it; at most 80 bytes,
// cut between characters, not escaped.
std::string NameOf(const RunOptions& options);

// ---- For commands that only look ---------------------------------------------------------------

// --output (or -q) of any command.
Result<OutputForm> OutputFormOf(const Words& words);

}  // namespace spate::cli
