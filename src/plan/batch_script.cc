#include "plan/batch_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "cli/options/job_words.h"
#include "cli/options/option_words.h"
#include "cli/options/shared.h"
#include "cli/options/submit_options.h"
#include "format/expand.h"
#include "format/script_text.h"
#include "format/shell_words.h"
#include "os/environment.h"
#include "os/terminal.h"
#include "plan/value_list.h"

namespace spate::cli {
namespace {

// kNothing: it happens anyway. kOne: so it does for 1, and no option requests more for a script.
// kList: several directives, "mem=4gb,ncpus=2".
enum class Means : uint8_t { kNothing, kOne, kOption, kArray, kList };
struct Directive {
  std::string_view marks, names;  // separated by blanks
  Means means;
  std::string_view option = {};  // of an array: the variable
  std::string_view unit = {};    // of a number alone
};
// The first row with mark and name counts.
constexpr Directive kDirectives[] = {
    {"#SBATCH", "array a", Means::kArray, "SLURM_ARRAY_TASK_ID"},
    {"#PBS", "J", Means::kArray, "PBS_ARRAY_INDEX"},
    {"#PBS", "t", Means::kArray, "PBS_ARRAYID"},
    {"#$", "t", Means::kArray, "SGE_TASK_ID"},
    {"#BSUB", "J", Means::kArray, "LSB_JOBINDEX"},
    {"#HQ", "array", Means::kArray, "HQ_TASK_ID"},
    {"#PBS #$", "l", Means::kList},
    {"#$", "cwd S V", Means::kNothing},
    {"#SBATCH", "export requeue", Means::kNothing},
    {"#PBS #$", "N", Means::kOption, "name"},
    {"#SBATCH #HQ", "job-name J name", Means::kOption, "name"},
    {"#SBATCH #PBS #BSUB #HQ", "nodes N ntasks n ntasks-per-node select", Means::kOne},
    {"#SBATCH", "mem", Means::kOption, "memory", "M"},
    {"#PBS", "mem", Means::kOption, "memory", "B"},
    {"#SBATCH", "time t", Means::kOption, "time-limit", "m"},
    {"#PBS #$ #HQ", "walltime h_rt time-limit", Means::kOption, "time-limit"},
    {"#SBATCH #PBS #HQ", "cpus-per-task c ncpus ppn cpus", Means::kOption, "cpus"},
    {"#SBATCH #PBS", "gpus gpus-per-task G ngpus", Means::kOption, "gpus"},
    {"#SBATCH #$ #HQ", "chdir D wd cwd", Means::kOption, "cwd"},
};

const Directive* FindDirective(std::string_view mark, std::string_view name) {
  auto has = [](std::string_view words, std::string_view word) {
    const auto all = format::SplitBlanks(words);
    return std::ranges::find(all, word) != all.end();
  };
  const auto* found = std::ranges::find_if(kDirectives, [&](const Directive& each) {
    return has(each.marks, mark) && has(each.names, name);
  });
  return found == std::end(kDirectives) ? nullptr : found;
}

class DirectiveReader {
 public:
  explicit DirectiveReader(BatchRequests& made) : made_(made) {}

  void ReadLine(const std::string& line) {
    mark_ = line.substr(0, line.find_first_of(" \t"));
    auto words = SplitOptionWords(std::string_view(line).substr(mark_.size()));
    if (!words) return made_.others.push_back(EscapeForScreen(line));
    for (size_t i = 0; i < words->size();) {
      const std::string& word = (*words)[i++];
      std::string value;
      for (; i < words->size() && !(*words)[i].starts_with('-'); ++i) {
        value += (value.empty() ? "" : " ") + (*words)[i];
      }
      Read(mark_, word, std::move(value));
    }
  }

 private:
  // "--mem=10G"; "--mem" and "10G"; "-c4"; "mem=4gb", a part of a list.
  void Read(const std::string& before, std::string_view word, std::string value) {
    const std::string text =
        EscapeForScreen(fmt::format("{} {}{}{}", before, word, value.empty() ? "" : " ", value));
    std::string_view name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    if (const size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const Directive* known = FindDirective(mark_, name);
    if (known == nullptr && !word.starts_with("--") && value.empty() && name.size() > 1) {
      value = name.substr(1);
      known = FindDirective(mark_, name.substr(0, 1));
    }
    if (known == nullptr || !Take(*known, value, text)) made_.others.push_back(text);
  }

  // False: no option stands for it.
  bool Take(const Directive& known, std::string value, const std::string& text) {
    switch (known.means) {
      case Means::kNothing:
        return true;
      case Means::kOne:
        return value == "1";
      case Means::kOption:
        if (value.find_first_not_of("0123456789") == std::string::npos) value += known.unit;
        return Add(known.option, value, text);
      case Means::kArray:
        if (mark_ == "#BSUB" && !value.contains('[')) return false;  // "name[0-34]%20"
        made_.numbers = value.substr(value.find('[') + 1);           // npos + 1 is 0
        std::erase(made_.numbers, ']');
        made_.variable = known.option;
        made_.array = text;
        return true;
      case Means::kList:
        if (value.starts_with("nodes=") || value.starts_with("select=")) {  // nodes=1:ppn=4
          const auto end = std::ranges::find(value, ',');
          std::replace(value.begin(), end, ':', ',');
        }
        for (std::string_view part : SplitCommas(value)) Read(mark_ + " -l", part, "");
        return true;
    }
    return false;
  }

  // Accepts only what the command accepts. Memory 0 is all of a node to Slurm.
  bool Add(std::string_view option, const std::string& value, const std::string& directive) {
    const std::vector<std::string> typed = {fmt::format("--{}={}", option, value), "--", "true"};
    auto words = ParseWords(made_.is_submit ? kSubmitWords : kRunWords, typed);
    if (value.empty() || value == "0M" || !words || !MakeSubmitOptions(*words)) return false;
    made_.requests.push_back({std::string(option), value, directive});
    return true;
  }

  BatchRequests& made_;
  std::string mark_;
};

bool HasValues(const RunOptions& options) {
  const SourceOptions& sources = options.sources;
  auto is_source = [](const std::string& word) { return word.starts_with(":::"); };
  return format::AsksForValue(sources.command, options.settings.replace) ||
         !sources.arg_files.empty() || !sources.json_files.empty() || sources.input.any() ||
         (!options.is_submit && StdinIsSource(os::kStdin)) ||
         std::ranges::any_of(sources.command, is_source);
}

}  // namespace

std::string BatchRequests::Command(std::string_view typed, std::string_view command) const {
  std::string text = fmt::format("spate {}{}", is_submit ? "submit" : "run", typed);
  std::string values;
  if (auto parsed = ParseArray(numbers); is_submit && !numbers.empty()) {
    text += " --array " + ShellQuote(numbers);
  } else if (parsed) {
    if (parsed->most > 0) text += fmt::format(" -j {}", parsed->most);
    values = " :::";
    for (const ArrayRange& range : parsed->ranges) {
      const std::string step = range.step == 1 ? "" : fmt::format("{} ", range.step);
      values += fmt::format(" $(seq {} {}{})", range.first, step, range.last);
    }
  }
  for (const Request& each : requests) {
    text += fmt::format(" --{} {}", each.option, ShellQuote(each.value));
  }
  const std::string number = variable.empty() ? "" : fmt::format("env {}={{}} ", variable);
  return fmt::format("{} -- {}{}{}", text, number, command, values);
}

std::string BatchRequests::OthersText() const {
  return others.empty() ? "" : fmt::format("not translated: {}\n", fmt::join(others, ", "));
}

BatchRequests ReadDirectives(std::span<const std::string> directives, bool is_submit) {
  BatchRequests made{.is_submit = is_submit};
  for (const std::string& line : directives) DirectiveReader(made).ReadLine(line);
  return made;
}

Result<std::string> CheckBatchScript(const Words& words, std::span<const std::string> argv,
                                     const RunOptions& options, const ReadFile& read) {
  const std::vector<std::string>& command = options.sources.command;
  if (command.empty()) return "";
  const std::string program = command.front().substr(command.front().rfind('/') + 1);
  const bool by_shell = program == "sh" || program == "bash" || program == "python3";
  const bool is_path = command.front().contains('/');
  const size_t at = by_shell ? 1 : 0;
  if (at >= command.size() || !(by_shell || is_path)) return "";
  const auto script = format::FindScript(read(command[at]));
  if (!script || script->directives.empty()) return "";
  BatchRequests made = ReadDirectives(script->directives, options.is_submit);
  std::erase_if(made.requests, [&](const BatchRequests::Request& each) {
    return std::ranges::any_of(words.options, [&](const TypedOption& option) {
      return option.opt->name() == each.option;
    });
  });
  if (words.Last(opt::kArray)) made.numbers.clear();
  auto quoted = [](std::span<const std::string> typed) {
    std::string text;
    for (const std::string& word : typed) text += " " + ShellQuote(word);
    return text;
  };
  const auto dashes = std::ranges::find(argv, "--");
  std::string typed;
  if (words.command->makes != Makes::kAddition) typed = quoted({argv.begin(), dashes});
  const std::string whole = quoted(command).substr(1);
  const std::string shown = EscapeForScreen(command[at]);
  const bool is_set = std::ranges::any_of(words.options, [&](const TypedOption& option) {
    return option.opt == &opt::kEnv && option.value.starts_with(made.variable + "=");
  });
  const bool has_number = is_set || !os::Environment::OfProcess().GetOr(made.variable, "").empty();
  if (!made.array.empty() && !has_number) {
    if (!HasValues(options)) {
      return Fail(
          ErrorKind::kInvalid,
          fmt::format(
              "{}: the script is an array ('{}'), but ${} would be empty; write: {}\n"
              "{}to run the script without a number: spate {}{} -- env {}\nnothing was started",
              shown, made.array, made.variable, EscapeForScreen(made.Command(typed, whole)),
              made.OthersText(), made.is_submit ? "submit" : "run", EscapeForScreen(typed),
              EscapeForScreen(whole)));
    }
    made.others.push_back(made.array);
  }
  made.numbers = made.variable = "";
  std::vector<std::string> names;
  for (const BatchRequests::Request& each : made.requests) names.push_back(each.directive);
  names.insert(names.end(), made.others.begin(), made.others.end());
  if (names.empty()) return "";
  std::string note = fmt::format("{}: spate ignores {}", shown, fmt::join(names, ", "));
  if (made.requests.empty()) return note;
  return note + "; to request the same: " + EscapeForScreen(made.Command(typed, whole));
}

}  // namespace spate::cli
