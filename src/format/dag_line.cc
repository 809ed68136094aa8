#include "format/dag_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "format/scanned_number.h"

namespace spate::format {
namespace {

constexpr std::string_view kDagBlanks = " \t";
constexpr size_t kShown = 200;  // bytes of a line or a word in an error

std::unexpected<Error> Invalid(std::string text) {
  return Fail(ErrorKind::kInvalid, std::move(text));
}

std::unexpected<Error> InvalidRecord(const char* kind, std::string_view line) {
  return Invalid(InvalidDagRecord(kind, line));
}

std::string_view NextWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kDagBlanks), text.size()));
  std::string_view word = text.substr(0, text.find_first_of(kDagBlanks));
  text.remove_prefix(word.size());
  return word;
}

// Takes one argument; false: there is none.
bool TakeArgument(std::string_view& text, std::string& argument) {
  argument.clear();
  size_t at = text.find_first_not_of(kDagBlanks);
  if (at == std::string_view::npos) return false;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '\\' && at + 1 < text.size()) {
      argument += text[++at];
    } else if (c == '"' || c == '\'') {
      quoted = !quoted;
      if (quoted) continue;
      ++at;
      break;
    } else if (!quoted && kDagBlanks.find(c) != std::string_view::npos) {
      break;
    } else {
      argument += c;
    }
  }
  text.remove_prefix(at);
  return true;
}

class TaskParser {
 public:
  explicit TaskParser(std::string_view line) : line_(line) {}

  Result<DagTask> Parse() {
    std::string_view text = line_;
    NextWord(text);
    task_.name = NextWord(text);
    std::string word;
    bool more = TakeArgument(text, word);
    for (; more && word.starts_with('-'); more = TakeArgument(text, word)) {
      TRY(ReadOption(word, text));
    }
    if (task_.name.empty() || !more || word.empty()) return InvalidRecord("TASK", line_);
    do task_.argv.push_back(std::move(word));
    while (TakeArgument(text, word));
    return std::move(task_);
  }

 private:
  struct Option {
    std::string_view letter, name, value;
    Status (TaskParser::*read)(const Option& option, const std::string& value);
  };

  Status ReadOption(const std::string& word, std::string_view& text) {
    static constexpr Option kOptions[] = {
        {"-m", "--request-memory", "N", &TaskParser::ReadMemory},
        {"-c", "--request-cpus", "N", &TaskParser::ReadCpus},
        {"-t", "--tries", "N", &TaskParser::ReadTries},
        {"-p", "--priority", "P", &TaskParser::ReadPriority},
        {"-f", "--pipe-forward", "VAR=PATH", &TaskParser::ReadForward},
        {"-F", "--file-forward", "SRC=DEST", &TaskParser::ReadForward},
    };
    auto option = std::ranges::find_if(
        kOptions, [&](const Option& each) { return word == each.letter || word == each.name; });
    if (option == std::end(kOptions)) {
      return Invalid(fmt::format("Invalid argument '{}' for task {}", Shown(word), Name()));
    }
    std::string value;
    if (!TakeArgument(text, value)) {
      return Invalid(fmt::format("{}/{} requires {} for task {}", option->letter, option->name,
                                 option->value, Name()));
    }
    return (this->*option->read)(*option, value);
  }

  std::unexpected<Error> InvalidValue(const char* what, const std::string& value) const {
    return Invalid(fmt::format("Invalid {} '{}' for task {}", what, Shown(value), Name()));
  }
  std::unexpected<Error> Negative(const char* what) const {
    return Invalid(fmt::format("Negative {} not allowed for task {}", what, Name()));
  }
  std::string Name() const { return ShownInDag(task_.name); }
  static std::string Shown(std::string_view word) { return ShownInDag(word); }

  template <typename T>
  Status ReadAmount(const char* what, double most, const std::string& value,
                    std::optional<T>& amount) {
    auto number = ScanFloat(value);
    if (!number || *number > most) return InvalidValue(what, value);
    if (*number < 0) return Negative(what);
    amount = static_cast<T>(std::ceil(*number));
    return {};
  }
  Status ReadMemory(const Option&, const std::string& value) {
    return ReadAmount("memory requirement", 1e9, value, task_.memory_mb);
  }
  Status ReadCpus(const Option&, const std::string& value) {
    return ReadAmount("CPU requirement", 1e6, value, task_.cpus);
  }
  Status ReadTries(const Option&, const std::string& value) {
    auto number = ScanInt(value);
    if (!number) return InvalidValue("tries", value);
    if (*number < 0) return Negative("tries");
    task_.tries = static_cast<uint32_t>(*number);
    return {};
  }
  Status ReadPriority(const Option&, const std::string& value) {
    task_.priority = ScanInt(value);
    if (!task_.priority) return InvalidValue("priority", value);
    return {};
  }
  Status ReadForward(const Option& option, const std::string& value) {
    size_t equals = value.find('=');
    if (equals == std::string::npos) {
      return Invalid(fmt::format("{}/{} format should be {} for task {}: {}", option.letter,
                                 option.name, option.value, Name(), Shown(value)));
    }
    auto& all = option.letter == "-f" ? task_.pipe_forwards : task_.file_forwards;
    std::string from = value.substr(0, equals);
    std::string to = value.substr(equals + 1);
    auto same = std::ranges::find(all, from, &Forward::from);
    if (same != all.end()) {
      same->to = std::move(to);
    } else {
      all.push_back({std::move(from), std::move(to)});
    }
    return {};
  }

  const std::string_view line_;
  DagTask task_ = {};
};

}  // namespace

std::string ShownInDag(std::string_view text) {
  return fmt::format("{}{}", EscapeForScreen(text.substr(0, kShown)),
                     text.size() > kShown ? "..." : "");
}

std::string InvalidDagRecord(const char* kind, std::string_view line) {
  return fmt::format("Invalid {} record: {}", kind, ShownInDag(line));
}

std::string_view TrimDagLine(std::string_view line) {
  constexpr std::string_view kAround = " \t\r";
  size_t first = line.find_first_not_of(kAround);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kAround) - first + 1);
}

bool IsTaskRecord(std::string_view line) { return line.starts_with("TASK"); }
bool IsEdgeRecord(std::string_view line) { return line.starts_with("EDGE"); }

std::string_view DagTaskName(std::string_view line) {
  NextWord(line);
  return NextWord(line);
}

Result<DagTask> ParseDagTask(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) return InvalidRecord("TASK", line);
  return TaskParser(line).Parse();
}

Result<std::pair<std::string_view, std::string_view>> ParseDagEdge(std::string_view line) {
  std::string_view text = line;
  NextWord(text);
  std::string_view parent = NextWord(text);
  std::string_view child = TrimDagLine(text);
  if (parent.empty() || child.empty()) return InvalidRecord("EDGE", line);
  return std::pair(parent, child);
}

std::vector<std::string> SplitDagArguments(std::string_view text) {
  std::vector<std::string> arguments;
  for (std::string argument; TakeArgument(text, argument);) arguments.push_back(argument);
  return arguments;
}

TaskClass ClassOf(const DagTask& task, const Needs& defaults) {
  TaskClass of_task = defaults;
  if (task.memory_mb) of_task.needs.memory = *task.memory_mb << 20;
  if (task.cpus) of_task.needs.milli_cpus = *task.cpus * kMilliCpu;
  of_task.priority = task.priority.value_or(0);
  if (task.tries) of_task.retries = *task.tries == 0 ? 0 : *task.tries - 1;
  return of_task;
}

}  // namespace spate::format
