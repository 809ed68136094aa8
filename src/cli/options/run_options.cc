// From words to RunOptions: what is meant together, and what is not.
#include "cli/options/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>

#include "base/number.h"
#include "base/units.h"
#include "cli/options/gang_options.h"
#include "cli/options/job_rows.h"
#include "cli/options/option_reader.h"
#include "cli/options/option_uses.h"
#include "cli/options/retry_options.h"
#include "cli/options/shared.h"
#include "core/model/job_facts.h"
#include "core/model/limits.h"
#include "core/model/task_files.h"
#include "format/forward.h"
#include "format/shell_kind.h"

namespace spate::cli {
namespace {

Status CheckFiles(const RunOptions& options, Makes makes) {
  const JobSettings& settings = options.settings;
  if (makes == Makes::kRun && !options.hub && settings.has_own_folder()) {
    return Fail(ErrorKind::kInvalid,
                "--put and --get are only for nodes of a hub (spate run --hub, spate submit); "
                "tasks on this machine have your files already");
  }
  struct Files {
    const std::vector<std::string>& patterns;
    const char* option;
    std::function<Status(const std::string&)> check;
  };
  auto pipe = [](const std::string& text) -> Status {
    auto parsed = format::ParsePipeForward(text);
    return parsed ? Status() : std::unexpected(parsed.error());
  };
  auto file = [](const std::string& text) -> Status {
    auto parsed = format::ParseFileForward(text);
    return parsed ? Status() : std::unexpected(parsed.error());
  };
  for (const Files& each : {Files{settings.put_patterns, "--put", CheckTaskFileName},
                            Files{settings.get_patterns, "--get", CheckTaskFileName},
                            Files{settings.forward_patterns, "--forward", pipe},
                            Files{settings.forward_file_patterns, "--forward-file", file}}) {
    if (each.patterns.size() > kLimits.file_options) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("{} is given more than {} times", each.option, kLimits.file_options));
    }
    for (const std::string& pattern : each.patterns) {
      if (auto sound = each.check(pattern); !sound) return Within(each.option, sound.error());
    }
  }
  return {};
}

Status CheckValues(const SourceOptions& sources) {
  if (sources.null_separated && !sources.delimiter.empty()) {
    return Fail(ErrorKind::kInvalid,
                "--null and --delimiter both define the end of a value; leave one out");
  }
  if (!sources.csv) return {};
  if (sources.null_separated || !sources.delimiter.empty()) {
    return Fail(ErrorKind::kInvalid, "--csv: records are lines; leave out --null and --delimiter");
  }
  bool one = sources.colsep.size() <= 1 || sources.colsep == "\\t";
  if (one && sources.colsep != "\"" && sources.colsep != "\n") return {};
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("--csv --colsep '{}': the separator must be one character, as in --colsep ';'",
                  EscapeForScreen(sources.colsep)));
}

// Checks which options go together with pieces of input, and which need them.
Status CheckInput(const RunOptions& options) {
  const SourceOptions& sources = options.sources;
  const InputOptions& input = sources.input;
  auto wrong = [](std::string why) { return Fail(ErrorKind::kInvalid, std::move(why)); };
  if (!input.any()) {
    bool given = input.block > 0 || input.per_slot > 0 || !input.recstart.empty() ||
                 input.recend_given || input.round_robin;
    if (!given || options.resume) return {};
    return wrong(
        "--block, --recstart, --recend and --round-robin are for input that is split into blocks; "
        "add --pipe (standard input) or --pipepart (files of -a)");
  }
  bool pipe = input.from == InputOptions::From::kPipe;
  std::string name = pipe ? "--pipe" : "--pipepart";
  if (!options.resume && (!sources.has_command || sources.command.empty())) {
    return wrong(name + " needs a command that reads standard input: " + name + " -- wc -l");
  }
  if (pipe && options.hub) {
    return wrong(
        "--pipe reads standard input on this machine; with a hub, use --pipepart with a file that "
        "its nodes can read");
  }
  if (sources.follow) return wrong(name + ": tasks start as input arrives; leave out --follow");
  if (pipe && !sources.arg_files.empty()) {
    return wrong("--pipe reads standard input; write < FILE, or use --pipepart -a FILE");
  }
  if (!pipe && sources.arg_files.empty() && !options.resume) {
    return wrong("--pipepart needs the file to split: --pipepart -a FILE");
  }
  if (pipe && input.per_slot > 0) {
    return wrong("--block -N needs the size of the input: write --block SIZE, or --pipepart");
  }
  if (!pipe && sources.max_args > 0) {
    return wrong("--pipepart splits by size; leave out -n, or use --pipe");
  }
  if (input.round_robin && sources.max_args > 0) {
    return wrong("--round-robin distributes blocks of a size; leave out -n");
  }
  if (!options.settings.stdin_pattern.empty()) {
    return wrong(name + ": the block is the standard input; leave out --stdin");
  }
  if (ValueSeparatorIn(sources.command) || sources.csv || sources.fill || !sources.colsep.empty() ||
      !sources.delimiter.empty() || sources.null_separated || !sources.json_files.empty()) {
    return wrong(name + ": tasks have no values; leave out options for values");
  }
  return {};
}

// A process that takes many tasks has nothing that is one task's alone.
Status CheckResident(const RunOptions& options) {
  const SourceOptions& sources = options.sources;
  if (!sources.resident) return {};
  if (!options.resume && (!sources.has_command || sources.command.empty())) {
    return Fail(ErrorKind::kInvalid,
                "--resident needs the command that reads the tasks: spate run --resident -- "
                "./worker.py ::: a b");
  }
  if (sources.files.size() > 1) {
    return Fail(ErrorKind::kInvalid, "--resident: name one list; its lines are the tasks");
  }
  const JobSettings& settings = options.settings;
  constexpr const char* kStreams =
      "the process's stdout and stderr are kept as the task's output; see --results";
  constexpr const char* kFiles = "a process that runs many tasks has no files of a single task";
  constexpr const char* kValues = "the values of a task are its input, not words of the command";
  for (auto [given, name, why] :
       {std::tuple{sources.input.any(), "--pipe and --pipepart", "tasks arrive on its input"},
        {sources.follow, "--follow", "name the list when it is complete"},
        {sources.is_graph(), "--format dag", "a graph has commands of its own"},
        {sources.fill, "--fill", kValues},
        {!settings.replace.empty(), "--replace-str", kValues},
        {!settings.stdin_pattern.empty(), "--stdin", "tasks arrive on its input"},
        {!settings.stdout_pattern.empty(), "--stdout", kStreams},
        {!settings.stderr_pattern.empty(), "--stderr", kStreams},
        {settings.has_own_folder(), "--put and --get", kFiles},
        {!settings.forward_patterns.empty(), "--forward", kFiles},
        {!settings.forward_file_patterns.empty(), "--forward-file", kFiles},
        {options.leftovers_given, "--leftovers", "its process outlives each of its tasks"},
        {settings.measure_io, "--measure-io", "it is measured when a process ends"}}) {
    if (given)
      return Fail(ErrorKind::kInvalid, fmt::format("--resident without {}: {}", name, why));
  }
  return {};
}

// A gang's limit may come from --time. A node of a hub may have a known end, and then the signal
// comes before that.
Status CheckWarnSignal(const JobSettings& settings, bool on_nodes) {
  if (settings.warn_signal == 0 || settings.time_limit > settings.warn_before) return {};
  if (settings.time_limit.ns > 0) {
    return Fail(ErrorKind::kInvalid, fmt::format("--signal: {} before the time limit of {}, the "
                                                 "task has not started yet; write a shorter time",
                                                 FormatDuration(settings.warn_before),
                                                 FormatDuration(settings.time_limit)));
  }
  if (settings.time_limit_percent > 0) {
    return Fail(ErrorKind::kInvalid,
                "--signal needs a --time-limit in time units, because a percentage of the median "
                "is not known in advance");
  }
  if (on_nodes) return {};
  return Fail(ErrorKind::kInvalid, "--signal needs a time limit; add one, as in --time-limit 1h");
}

// --pipefail is an option of the shell that runs the tasks: bash, when none was named.
Status AddPipefail(RunOptions& options) {
  if (!options.pipefail) return {};
  std::string& shell = options.settings.shell;
  if (shell.empty()) shell = "bash";
  auto kind = format::KindOfShell(shell);
  if (kind == format::ShellKind::kPosix || kind == format::ShellKind::kOther) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--pipefail: '{}' does not support it; name bash, ksh or zsh, or leave "
                            "out --shell (bash -o pipefail)",
                            EscapeForScreen(shell)));
  }
  shell += " -o pipefail";
  return {};
}

// A list has its commands itself: ::: behind it is a command's, whose -- is missing, or a mistake.
Status CheckSeparators(const std::vector<std::string>& files) {
  auto separator = ValueSeparatorIn(files);
  if (!separator) return {};
  std::string typed;
  for (const std::string& word : files) typed += " " + ShellQuote(word);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}': values are for a command, and a command stands behind --; write: "
                          "spate run --{}. The commands of a list take no values: write them into "
                          "it",
                          *separator, EscapeForScreen(typed)));
}

Status CheckTargets(const SourceOptions& sources) {
  if (sources.targets.empty()) return {};
  if (sources.has_command || sources.input.any()) {
    return Fail(
        ErrorKind::kInvalid,
        "--target selects tasks of a list or a graph, but a command was given; leave one of "
        "them out");
  }
  if (!sources.follow) return {};
  return Fail(
      ErrorKind::kInvalid,
      "--target needs the complete list, but --follow reads one that is still being written; "
      "leave out --follow");
}

Status CheckTogether(const RunOptions& options) {
  TRY(CheckSeparators(options.sources.files));
  TRY(CheckTargets(options.sources));
  TRY(CheckResident(options));
  bool is_list = !options.sources.files.empty() && !options.sources.resident;
  if (options.sources.has_command && is_list) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("there is both a job list ('{}') and a command after --; leave one of "
                            "them out (for values from a file, write -a FILE)",
                            EscapeForScreen(options.sources.files.front())));
  }
  if (options.show.form == OutputForm::kJson && options.show.line_buffer) {
    return Fail(
        ErrorKind::kInvalid,
        "--output json prints a task's output together with its end; leave out --line-buffer");
  }
  const std::string& results = options.show.results_dir;
  if (results.find('{') != std::string::npos) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("--results: '{}' contains a placeholder; name a folder, as in --results DIR, "
                    "or a file such as all.csv; for one output file per task: --stdout '{{1}}.txt'",
                    EscapeForScreen(results)));
  }
  if (options.show.tag_text.find("{%}") != std::string::npos) {
    return Fail(ErrorKind::kInvalid,
                "--tagstring: {%}, the slot, is not known when output is printed; use {#}, the "
                "task's number");
  }
  if (options.hub && !options.slots_file.empty()) {
    return Fail(
        ErrorKind::kInvalid,
        "-j FILE is for runs on this machine; with a hub: spate job set JOB --max-running N");
  }
  TRY(CheckValues(options.sources));
  TRY(CheckInput(options));
  TRY(CheckArray(options));
  if (options.resume && options.dry_run) {
    return Fail(ErrorKind::kInvalid,
                "--resume --dry-run: to see what is left to do, use `spate job tasks last "
                "--filter queued`");
  }
  return {};
}

// A run that goes on has the files' names from its first command line.
Status CheckAppend(const RunOptions& options, Makes makes) {
  const JobSettings& settings = options.settings;
  bool named = !settings.stdout_pattern.empty() || !settings.stderr_pattern.empty() ||
               !options.show.results_dir.empty();
  if (!settings.append_output || named || options.resume || makes == Makes::kRetry) {
    return {};
  }
  return Fail(ErrorKind::kInvalid,
              "--append: there is no file to append to; name one with --stdout or --stderr, or "
              "leave out --append");
}

// Fills the options' rows, in the order in which help has them.
Result<SubmitOptions> Fill(const Words& words) {
  SubmitOptions job;
  OptionReader in(words);
  for (const Option* option : OptionsOf(*words.command)) {
    Filler filler{in, *option, job};
    if (option->job.fill != nullptr) option->job.fill(filler);
  }
  TRY(in.status());
  return job;
}

// Sets what follows from several options, or from words that are no options.
void CompleteRun(const Words& words, RunOptions& options) {
  SourceOptions& sources = options.sources;
  const Makes makes = words.command->makes;
  options.is_submit = makes == Makes::kSubmission || makes == Makes::kAddition;
  // The words of the others are jobs.
  if (makes == Makes::kRun || makes == Makes::kSubmission) sources.files = words.words;
  options.verb = words.command->name;
  if (makes == Makes::kAddition) {
    options.verb += " " + ShellQuote(words.words.front());
    sources.files.assign(words.words.begin() + 1, words.words.end());
  }
  sources.command = words.rest;
  sources.has_command = words.has_rest;
  sources.follow = sources.follow || !sources.follow_until.empty();
  options.show.tag = options.show.tag || !options.show.tag_text.empty();
  options.hub = options.hub || !options.access.empty();
  if (sources.resident && !options.leftovers_given) {
    options.settings.leftovers = Leftovers::kEnd;  // its process stays by itself
    options.settings.leftovers_wait = {};
  }
}

}  // namespace

Result<SubmitOptions> FillOptions(const Words& words) {
  auto job = TRY(Fill(words));
  RunOptions& options = job.run;
  const Makes makes = words.command->makes;
  CompleteRun(words, options);
  if (!words.Has(opt::kLike)) {
    TRY(CheckRetries(options.policy.retry, options.needs.memory));
  }
  TRY(AddPipefail(options));
  TRY(CompleteGang(options));
  TRY(CheckTogether(options));
  TRY(CheckAppend(options, makes));
  const bool on_nodes = options.is_submit || options.hub || words.Has(opt::kRunPool);
  TRY(CheckWarnSignal(options.settings, on_nodes));
  TRY(CheckGang(options));
  TRY(CheckFiles(options, makes));
  if (makes == Makes::kRun && !on_nodes) {
    TRY(CheckHubOnly(words));
  }
  // A list beside a command is what the command is given, line by line.
  if (options.sources.resident) {
    std::vector<std::string>& files = options.sources.files;
    options.sources.arg_files.insert(options.sources.arg_files.begin(), files.begin(), files.end());
    files.clear();
  }
  return job;
}

Result<RunOptions> MakeRunOptions(const Words& words) {
  auto job = TRY(FillOptions(words));
  return std::move(job.run);
}

namespace {

bool IsOfScreen(const TypedOption& option) {
  return option.opt == &opt::kOutput || option.opt == &opt::kQuiet || option.opt == &opt::kJson ||
         option.opt == &opt::kNoBar;
}

bool IsOneOf(const TypedOption& option, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, option.opt->name()) != names.end();
}

// "0:90" becomes "1:30".
void CarryClock(std::string& value) {
  for (size_t colon = value.rfind(':'); colon != value.npos && colon > 0;
       colon = value.rfind(':', colon - 1)) {
    const size_t first = value.find_last_not_of("0123456789._", colon - 1) + 1;  // npos + 1 is 0
    const size_t end = std::min(value.find_first_not_of("0123456789", colon + 1), value.size());
    const auto high = ReadNumber<uint32_t>(value.substr(first, colon - first));
    const auto low = ReadNumber<uint32_t>(value.substr(colon + 1, end - colon - 1));
    if (!high || !low || *low < 60) continue;
    value.replace(first, end - first, fmt::format("{}:{:02}", *high + *low / 60, *low % 60));
  }
}

// Words of a journal keep the meaning that they had for the version that wrote it: memory without a
// unit is in bytes, an m of --keep is a minute, 0:90 is a time, and what meant nothing still does.
void KeepMeanings(Words& stored) {
  std::erase_if(stored.options, [](const TypedOption& option) {
    return (option.opt == &opt::kKeep && option.value.empty()) ||
           (IsOneOf(option, {"block"}) && ParseSize(option.value) == 0u);
  });
  for (TypedOption& option : stored.options) {
    if (IsOneOf(option, {"time-limit", "time", "warn-time", "kill-grace", "delay", "keep",
                         "leftovers", "retry-delay", "signal"})) {
      CarryClock(option.value);
    }
    const bool is_memory = IsOneOf(option, {"memory", "max-memory", "min-free-memory"});
    const bool has_unit = option.value.find_first_not_of("0123456789._") != std::string::npos;
    if (is_memory && !has_unit) option.value += 'B';
    if (option.opt != &opt::kKeep) continue;
    const size_t minutes = option.value.find('m');
    const bool ends =
        minutes + 1 == option.value.size() || option.value.substr(minutes + 1, 1) == ",";
    if (minutes != std::string::npos && ends) option.value.insert(minutes + 1, "in");
  }
}

Words OnTop(Words both, const Words& now) {
  std::erase_if(both.options, [&](const TypedOption& option) {
    const bool replaced = option.opt->job.replaces && now.Last(*option.opt).has_value();
    return option.opt == &opt::kResume || option.opt == &opt::kDryRun || replaced;
  });
  both.options.insert(both.options.end(), now.options.begin(), now.options.end());
  if (now.command->makes == Makes::kRun && (!now.words.empty() || now.has_rest)) {
    both.words = now.words;
    both.rest = now.rest;
    both.has_rest = now.has_rest;
  }
  return both;
}

}  // namespace

Result<RunOptions> ParseRun(std::span<const std::string> stored, std::span<const std::string> given,
                            const Command& given_command) {
  auto first = ParseWords(kRunWords, stored);
  if (!first) return Within("options of the first run", first.error());
  if (given.empty()) KeepMeanings(*first);
  auto now = TRY(ParseWords(given_command, given));
  return MakeRunOptions(OnTop(std::move(*first), now));
}

Result<RunOptions> ParseAgain(std::span<const std::string> stored,
                              std::span<const std::string> preset,
                              std::span<const std::string> given, const Command& given_command) {
  auto first = ParseWords(kRunWords, stored);
  if (!first) return Within("options of the first run", first.error());
  auto always = ParseWords(kRunWords, preset);
  if (!always) return Within("$SPATE_OPTIONS", always.error());
  auto now = TRY(ParseWords(given_command, given));
  KeepMeanings(*first);
  std::erase_if(first->options, IsOfScreen);
  std::ranges::copy_if(always->options, std::back_inserter(first->options), IsOfScreen);
  return MakeRunOptions(OnTop(std::move(*first), now));
}

bool SourceOptions::is_graph() const {
  if (has_command || format != ListFormat::kBySuffix) return format == ListFormat::kDag;
  return std::ranges::any_of(files, [](const std::string& file) { return file.ends_with(".dag"); });
}

namespace {

// Rejects options that have no meaning when tasks wait for one another.
Status CheckGraph(const RunOptions& options) {
  const SourceOptions& sources = options.sources;
  if (sources.has_command) {
    return Fail(ErrorKind::kInvalid,
                "--format dag is for a file; name the file, without a command");
  }
  if (sources.files.size() > 1) {
    return Fail(ErrorKind::kInvalid,
                "a graph is a separate job; name one DAG file and no other list");
  }
  for (auto [given, name, why] :
       {std::tuple{sources.follow, "--follow", "is read completely before anything starts"},
        {options.show.keep_order, "--keep-order", "determines the order itself"},
        {options.order != TaskOrder::kGiven, "--order", "determines the order itself"},
        {sources.input.any(), "--pipe and --pipepart", "has no input to split"},
        {!options.settings.shell.empty(), "--shell and --pipefail",
         "starts its programs without a shell"}}) {
    if (!given) continue;
    return Fail(ErrorKind::kInvalid, fmt::format("{}: a graph {}", name, why));
  }
  return {};
}

}  // namespace

Status CheckSources(const RunOptions& options) {
  if (options.sources.is_graph()) {
    TRY(CheckGraph(options));
  }
  const SourceOptions& sources = options.sources;
  if (sources.has_command && sources.command.empty()) {
    return Fail(ErrorKind::kInvalid,
                "there is no command after --; write for example: spate run -- gzip {} ::: *.txt");
  }
  if (!sources.has_command && sources.files.empty() && !options.resume) {
    return Fail(ErrorKind::kInvalid,
                "nothing to run: name a job list (- for standard input), or write a command after "
                "--\nSee: spate run --help");
  }
  if (sources.follow && sources.has_command) {
    return Fail(ErrorKind::kInvalid,
                "--follow is for job lists: the values of a command are read to their end before "
                "anything starts; leave out --follow, or follow a list of whole commands: PRODUCER "
                "| spate run --follow -");
  }
  if (sources.follow && options.order != TaskOrder::kGiven) {
    return Fail(ErrorKind::kInvalid,
                "--follow starts tasks as their lines arrive; leave out --order");
  }
  std::string_view name = OptionOfValues(sources);
  if (name.empty() && !options.settings.replace.empty()) name = "--replace-str";
  const bool has_list = !options.resume || !sources.files.empty();
  if (sources.has_command || name.empty() || !has_list) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("{} is for the values of a command; write the command after --, as in "
                          "spate run {} ... -- gzip {{}}",
                          name, name));
}

std::string_view OptionOfValues(const SourceOptions& sources) {
  for (auto [given, name] : {std::pair{!sources.arg_files.empty(), "--arg-file"},
                             {!sources.json_files.empty(), "--json-lines"},
                             {sources.null_separated, "--null"},
                             {!sources.colsep.empty(), "--colsep"},
                             {sources.header, "--header"},
                             {sources.max_args > 0, "--max-args"},
                             {sources.fill, "--fill"},
                             {sources.csv, "--csv"},
                             {!sources.delimiter.empty(), "--delimiter"},
                             {sources.trim.has_value(), "--trim"}}) {
    if (given) return name;
  }
  return "";
}

std::optional<std::string> ValueSeparatorIn(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 4> kSeparators = {":::", ":::+", "::::", "::::+"};
  auto at = std::ranges::find_first_of(words, kSeparators);
  return at == words.end() ? std::nullopt : std::optional(*at);
}

TaskClass ClassOf(const RunOptions& options, Needs needs) {
  TaskClass of_tasks(std::move(needs));
  of_tasks.gang = options.gang;
  of_tasks.deadline = options.deadline;
  of_tasks.bound = options.bound;
  return of_tasks;
}

uint32_t OfferedSlots(const RunOptions& options, uint32_t cores) {
  uint32_t slots = SlotCount(options.slots, cores);
  return options.slots_file.empty() ? slots : std::max(slots, kSlotsOfFile);
}

uint32_t OfferedMilliCpus(const RunOptions& options, uint32_t cores) {
  uint32_t count = std::max(cores, 1u);
  if (options.slots_given && !options.cpus_given) {
    count = std::max(count, OfferedSlots(options, cores));
  }
  return count * kMilliCpu;
}

double MaxLoad(const RunOptions& options, uint32_t cores) {
  if (options.max_load.percent > 0) return options.max_load.percent / 100 * cores;
  return options.max_load.load;
}

JobSettings SettingsOf(const RunOptions& options, std::string_view cwd, uint32_t cores) {
  JobSettings settings = options.settings;
  settings.max_load = MaxLoad(options, cores);
  std::filesystem::path folder(cwd);
  if (!options.cwd.empty()) folder = (folder / options.cwd).lexically_normal();
  settings.cwd = folder.string();
  if (settings.cwd.size() > 1 && settings.cwd.ends_with('/')) settings.cwd.pop_back();
  return settings;
}

std::string NameOf(const RunOptions& options) {
  constexpr size_t kBytes = 80;
  if (!options.settings.name.empty()) return options.settings.name;
  std::string name;
  auto add = [&](std::string_view word) {
    if (!name.empty()) name += ' ';
    name += word;
  };
  if (options.sources.has_command) {
    const auto& words = options.sources.command;
    for (size_t i = 0; i < words.size() && name.size() <= kBytes; ++i) {
      // One word with blanks is shell text, not a word to quote.
      add(words.size() == 1 ? words[i] : ShellQuote(words[i]));
    }
  } else {
    for (const std::string& file : options.sources.files) {
      add(std::filesystem::path(file).filename().string());
    }
  }
  return name.size() <= kBytes ? name : CutText(std::move(name), kBytes - 3);
}

Result<OutputForm> OutputFormOf(const Words& words) {
  OutputForm form = OutputForm::kHuman;
  OptionReader in(words);
  in.Value(opt::kOutput, form);
  TRY(in.status());
  return form;
}

}  // namespace spate::cli
