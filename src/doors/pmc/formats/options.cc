// One table says what options there are: ReadOptions and HelpText both go by it.

#include "doors/pmc/formats/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/near.h"
#include "base/units.h"
#include "format/scanned_number.h"

namespace spate::pmc {
namespace {

using format::ScanFloat;
using format::ScanInt;

struct Option {
  std::string_view letter, name;
  std::string_view value;  // what help calls it; empty: a switch
  std::string_view rule;   // what a value must be
  std::string_view about;
  std::string_view variable;  // that stands for it; empty: none
  // False: the value is against the rule. Of a switch `value` is empty.
  bool (*set)(Options& options, const std::string& value);
};

template <typename Number>
bool SetNumber(const std::string& value, int32_t least, Number& number) {
  auto read = ScanInt(value);
  if (!read || *read < least) return false;
  number = static_cast<Number>(*read);
  return true;
}

bool SetPath(const std::string& value, std::string& path) {
  path = value;
  return !value.empty();
}

// `own` is the word for the stream of the program itself.
bool SetOutput(const std::string& value, std::string_view own, std::optional<std::string>& path) {
  path = value == own ? std::nullopt : std::optional(value);
  return !value.empty();
}

bool SetMinutes(const std::string& value, Duration& time) {
  constexpr double kMost = 1e8;  // some 190 years; more would not fit a Duration
  auto minutes = ScanFloat(value);
  if (!minutes || *minutes < 0) return false;
  time = Duration::SecondsF(std::min<double>(*minutes, kMost) * 60);
  return true;
}

using Text = const std::string&;
constexpr std::string_view kCount = "a whole number, 0 or more";
constexpr std::string_view kPositive = "a whole number, at least 1";
constexpr std::string_view kPath = "the path of a file";

// Help and version are answered before anything is set.
constexpr auto kOptions = std::to_array<Option>({
    {"-h", "--help", "", "", "Print this text", "", [](Options&, Text) { return true; }},
    {"-V", "--version", "", "", "Print the version", "", [](Options&, Text) { return true; }},
    {"-v", "--verbose", "", "", "Log more; each one is a step: info (as it is), debug, trace", "",
     [](Options& o, Text) { return ++o.verbosity, true; }},
    {"-q", "--quiet", "", "", "Log less; each one is a step: info (as it is), warn, error, fatal",
     "", [](Options& o, Text) { return --o.verbosity, true; }},
    {"-s", "--skip-rescue", "", "", "Do not read the rescue file: run all tasks", "",
     [](Options& o, Text) { return o.skip_rescue = true; }},
    {"-o", "--stdout", "PATH", kPath, "Standard output of the tasks (stdout: that of this program)",
     "", [](Options& o, Text v) { return SetOutput(v, "stdout", o.out); }},
    {"-e", "--stderr", "PATH", kPath, "Standard error of the tasks (stderr: that of this program)",
     "", [](Options& o, Text v) { return SetOutput(v, "stderr", o.err); }},
    {"-m", "--max-failures", "N", kCount, "Start no more tasks after N have failed (0: no limit)",
     "", [](Options& o, Text v) { return SetNumber(v, 0, o.max_failures); }},
    {"-t", "--tries", "N", kPositive, "Try each task up to N times (1)", "",
     [](Options& o, Text v) { return SetNumber(v, 1, o.tries); }},
    {"-n", "--nolock", "", "", "Do not lock the DAG file", "",
     [](Options& o, Text) { return o.lock = false, true; }},
    {"-r", "--rescue", "PATH", kPath, "Rescue file (DAGFILE.rescue)", "",
     [](Options& o, Text v) { return SetPath(v, o.rescue); }},
    {"", "--host-script", "PATH", kPath, "Run this on each host before the first task",
     "PMC_HOST_SCRIPT", [](Options& o, Text v) { return o.host_script = v, true; }},
    {"", "--host-memory", "MB", kPositive, "Memory of each host in MB (what it has)",
     "PMC_HOST_MEMORY", [](Options& o, Text v) { return SetNumber(v, 1, o.host_memory_mb); }},
    {"", "--host-cpus", "N", kCount, "CPUs of each host (0: what it has)", "PMC_HOST_CPUS",
     [](Options& o, Text v) { return SetNumber(v, 0, o.host_cpus); }},
    {"", "--strict-limits", "", "", "Give a task no more memory than it requests", "",
     [](Options& o, Text) { return o.strict_limits = true; }},
    {"", "--max-wall-time", "MIN", "a number of minutes, 0 or more",
     "Stop after so many minutes, such as 1.5 (0: no limit)", "PMC_MAX_WALL_TIME",
     [](Options& o, Text v) { return SetMinutes(v, o.max_wall_time); }},
    {"", "--per-task-stdio", "", "", "Output of each try to TASK.out.NNN and TASK.err.NNN", "",
     [](Options& o, Text) { return o.per_task_stdio = true; }},
    {"", "--jobstate-log", "", "", "Write jobstate.log into the folder of the DAG file", "",
     [](Options& o, Text) { return o.jobstate_log = true; }},
    {"", "--monitord-hack", "", "", "Write DAGFILE.dagman.out; sets --per-task-stdio", "",
     [](Options& o, Text) { return o.monitord_hack = o.per_task_stdio = true; }},
    {"", "--no-resource-log", "", "", "Do not write DAGFILE.resource", "",
     [](Options& o, Text) { return o.resource_log = false, true; }},
    {"", "--no-sleep-on-recv", "", "", "Wait for messages without sleeping", "",
     [](Options& o, Text) { return o.sleep_on_recv = false, true; }},
    {"", "--maxfds", "N", kPositive, "Files kept open for forwarding (as the system allows)", "",
     [](Options& o, Text v) { return SetNumber(v, 1, o.max_fds); }},
    {"", "--keep-affinity", "", "", "Keep the CPUs and memory to which the launcher bound us", "",
     [](Options& o, Text) { return o.keep_affinity = true; }},
    {"", "--set-affinity", "", "", "Bind tasks of several CPUs to theirs; not with --host-cpus", "",
     [](Options& o, Text) { return o.set_affinity = true; }},
});

const Option* Find(std::string_view word) {
  auto same = [&](const Option& o) {
    return !word.empty() && (word == o.letter || word == o.name);
  };
  auto found = std::ranges::find_if(kOptions, same);
  return found == kOptions.end() ? nullptr : &*found;
}

std::string BothNames(const Option& option) {
  return fmt::format("{}{}{}", option.letter, option.letter.empty() ? "" : "/", option.name);
}

std::unexpected<Ending> Refuse(std::string text) {
  return std::unexpected(Ending{.text = std::move(text) + "\n", .exit_code = 1});
}

class Reader {
 public:
  Reader(std::span<const std::string> args, std::string_view version)
      : args_(args), version_(version) {}

  std::expected<Options, Ending> Read(const Variables& variables) {
    while (at_ < args_.size()) {
      TRY(ReadArgument(args_[at_++]));
    }
    if (options_.dag.empty()) return Refuse("No DAG file is given" + taken_);
    TRY(ReadVariables(variables));
    if (options_.set_affinity && options_.host_cpus > 0) {
      return Refuse(
          "--set-affinity does not go with a number of CPUs (--host-cpus or PMC_HOST_CPUS)");
    }
    if (options_.rescue.empty()) options_.rescue = options_.dag + ".rescue";
    return std::move(options_);
  }

 private:
  using Step = std::expected<void, Ending>;

  Step ReadArgument(const std::string& word) {
    const Option* option = Find(word);
    if (option != nullptr) return ReadOption(*option);
    if (word.starts_with('-')) return Unrecognized(word);
    if (word.empty()) return Refuse("Invalid argument: the name of the DAG file is empty");
    if (!options_.dag.empty()) {
      return Refuse(fmt::format("Invalid argument: '{}', where the DAG file is '{}' already",
                                EscapeForScreen(word), EscapeForScreen(options_.dag)));
    }
    options_.dag = word;
    return {};
  }

  Step ReadOption(const Option& option) {
    if (option.name == "--version") {
      return std::unexpected(Ending{.text = std::string(version_), .exit_code = 0});
    }
    is_set_[static_cast<size_t>(&option - kOptions.data())] = true;
    if (option.value.empty()) {
      option.set(options_, {});
      return {};
    }
    // The next option is hardly meant as the value. (A file of such a name is "./-n".)
    if (at_ == args_.size() || Find(args_[at_]) != nullptr) {
      return Refuse(fmt::format("{} requires {}", BothNames(option), option.value));
    }
    const std::string& value = args_[at_++];
    taken_ = fmt::format(": '{}' is the {} of {}", EscapeForScreen(value), option.value,
                         BothNames(option));
    return SetValue(option, BothNames(option), value);
  }

  Step SetValue(const Option& option, std::string_view name, const std::string& value) {
    if (option.set(options_, value)) return {};
    return Refuse(fmt::format("Invalid value for {}: '{}' ({} is {})", name, EscapeForScreen(value),
                              option.value, option.rule));
  }

  Step ReadVariables(const Variables& variables) {
    for (size_t i = 0; i < kOptions.size(); ++i) {
      const Option& option = kOptions[i];
      if (option.variable.empty() || is_set_[i]) continue;
      auto value = variables(option.variable);
      if (!value) continue;
      // In the original, too, 0 stands for the machine's memory here and is refused as an argument.
      if (option.name == "--host-memory" && ScanInt(*value) == 0) continue;
      TRY(SetValue(option, option.variable, *value));
    }
    return {};
  }

  static std::unexpected<Ending> Unrecognized(const std::string& word) {
    std::array<std::string_view, kOptions.size()> names;
    std::ranges::transform(kOptions, names.begin(), &Option::name);
    return Refuse(
        fmt::format("Unrecognized argument: {}{}", EscapeForScreen(word), DidYouMean(word, names)));
  }

  const std::span<const std::string> args_;
  const std::string_view version_;
  size_t at_ = 0;  // the next argument
  Options options_;
  std::array<bool, kOptions.size()> is_set_{};
  // The last value, told: "-o flow.dag" has no DAG file, but somebody who thinks so.
  std::string taken_;
};

}  // namespace

std::expected<Options, Ending> ReadOptions(std::span<const std::string> args,
                                           const Variables& variables, std::string_view version) {
  if (args.empty()) return std::unexpected(Ending{.text = HelpText(), .exit_code = 1});
  bool help = std::ranges::any_of(args, [](Text arg) { return arg == "-h" || arg == "--help"; });
  if (help) return std::unexpected(Ending{.text = HelpText(), .exit_code = 0});
  return Reader(args, version).Read(variables);
}

std::string HelpText() {
  std::string text =
      "Usage: pegasus-mpi-cluster [options] DAGFILE\n\n"
      "Runs the tasks of DAGFILE, each when those before it have succeeded.\n\n"
      "Options (in parentheses: what holds without them):\n";
  for (const Option& option : kOptions) {
    std::string names = fmt::format("{:2}{} {} {}", option.letter,
                                    option.letter.empty() ? ' ' : ',', option.name, option.value);
    std::string variable =
        option.variable.empty() ? "" : fmt::format("; or set {}", option.variable);
    text += fmt::format("  {:25}  {}{}\n", names, option.about, variable);
  }
  return text;
}

}  // namespace spate::pmc
