#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/units.h"
#include "core/model/limits.h"
#include "format/argv.h"
#include "format/byte_order_mark.h"
#include "format/dag/dag.h"
#include "format/dag_line.h"
#include "format/lines.h"
#include "os/fd.h"
#include "os/file.h"
#include "plan/problems.h"
#include "plan/slow_list.h"
#include "plan/task_list.h"

namespace spate::cli {
namespace {

// The whole text; it is walked again for each use of the rows.
Result<std::string> ReadWhole(const RunOptions& options, const LoadContext& context,
                              const std::string& file, const std::string& name) {
  constexpr size_t kPieceBytes = 256 * 1024;
  os::Fd opened;
  int fd = context.stdin_fd;
  std::string text;
  if (file != "-") {
    auto open = TRY(os::OpenRead(file));
    opened = std::move(open);
    fd = opened.get();
    if (auto info = os::StatFd(fd, file)) text.reserve(info->size + 1);
  }
  SlowList slow(options, context, fd, name);
  for (size_t size = 0;;) {
    slow.BeforeRead();
    text.resize(size + kPieceBytes);
    auto more = os::ReadSome(fd, text.data() + size, kPieceBytes, name);
    if (!more) return Fail(ErrorKind::kInvalid, more.error().message);
    slow.AfterRead(std::string_view(text).substr(size, *more));
    size += *more;
    text.resize(size);
    if (*more == 0) return text;
  }
}

// The first record of a DAG of HTCondor, whose nodes are submit files, not commands; empty: the
// text is something else.
std::string_view CondorLine(std::string_view text) {
  constexpr std::string_view kKeywords[] = {"JOB",  "PARENT", "SUBDAG",   "SPLICE",
                                            "VARS", "CONFIG", "CATEGORY", "INCLUDE"};
  text = format::WithoutByteOrderMark(text);
  while (auto line = format::NextLine(&text)) {
    const std::string_view record = format::TrimBlanks(*line);
    if (record.empty() || record.starts_with('#')) continue;
    std::string_view rest = record;
    std::string word(format::NextWord(&rest));
    for (char& c : word) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return std::ranges::find(kKeywords, word) == std::end(kKeywords) ? "" : record;
  }
  return "";
}

class GraphLoader {
 public:
  GraphLoader(const RunOptions& options, std::string name, std::vector<std::string> known)
      : options_(options), name_(std::move(name)), known_(std::move(known)) {}

  Result<TaskList> Load(std::string read) {
    auto text = std::make_shared<const std::string>(std::move(read));
    auto rows = std::make_shared<std::vector<std::string_view>>();
    auto add = [&](const format::DagEntry& entry) {
      rows->push_back(entry.row);
      Add(entry);
    };
    auto dag = format::ReadDag(*text, kLimits.list_errors, add, known_);
    const std::string_view condor = dag.error_count > 0 ? CondorLine(*text) : "";
    if (!condor.empty()) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("{}: this is a DAG of HTCondor ('{}'), whose nodes are submit files; "
                              "submit it with condor_submit_dag, or write its commands as lines "
                              "'TASK NAME COMMAND' and 'EDGE PARENT CHILD'\nnothing was started",
                              name_, format::ShownInDag(condor)));
    }
    for (const format::DagError& error : dag.errors) {
      problems_.Add(fmt::format("{}:{}: {}", name_, error.line, EscapeForScreen(error.text)));
    }
    problems_.Count(dag.error_count - dag.errors.size());
    if (problems_.any()) return std::unexpected(problems_.ToError());
    TaskList list;
    list.count = dag.tasks;
    list.requests = std::move(table_.requests());
    list.runs = std::move(table_.runs());
    list.places = std::move(table_.places());
    list.edges = std::move(dag.edges);
    list.forwards = forwards_;
    list.known_tasks = static_cast<uint32_t>(known_.size());
    list.rows = [text, rows](const RowVisitor& visit) {
      for (std::string_view row : *rows) visit(row);
    };
    return list;
  }

 private:
  void Add(const format::DagEntry& entry) {
    auto place = [&] { return fmt::format("{}:{}", name_, entry.line); };
    for (const format::Forward& pipe : entry.task.pipe_forwards) {
      if (auto sound = format::CheckVariable(pipe.from); !sound) {
        problems_.Add(fmt::format("{}: -f: {}", place(), sound.error().message));
      }
    }
    forwards_ |= !entry.task.pipe_forwards.empty() || !entry.task.file_forwards.empty();
    for (const auto* forwards : {&entry.task.pipe_forwards, &entry.task.file_forwards}) {
      for (const format::Forward& forward : *forwards) {
        if (!forward.from.empty() && !forward.to.empty()) continue;
        problems_.Add(
            fmt::format("{}: task {}: the forward '{}={}' lacks a source or a destination", place(),
                        EscapeForScreen(entry.task.name), EscapeForScreen(forward.from),
                        EscapeForScreen(forward.to)));
      }
    }
    if (auto argv = format::CheckArgv(entry.task.argv); !argv) {
      problems_.Add(fmt::format("{}: {}", place(), argv.error().message));
    }
    if (entry.task.tries.value_or(0) > kLimits.retries) {
      problems_.Add(fmt::format("{}: more than {} tries", place(), FormatCount(kLimits.retries)));
    }
    TaskClass of_task = format::ClassOf(entry.task, options_.needs);
    of_task.deadline = options_.deadline;
    of_task.bound = options_.bound;
    table_.Add(index_++, of_task, place);
    if (table_.requests().size() == kLimits.requests + 1 && !std::exchange(too_many_, true)) {
      problems_.Add(
          fmt::format("{}: more than {} different combinations of needs, priorities and tries in "
                      "one run; round them, or split the graph",
                      place(), FormatCount(kLimits.requests)));
    }
  }

  const RunOptions& options_;
  const std::string name_;
  const std::vector<std::string> known_;
  TaskIndex index_ = 0;
  RequestTable table_;
  bool forwards_ = false;
  bool too_many_ = false;  // needs, and told
  Problems problems_;
};

}  // namespace

Result<TaskList> LoadGraph(const RunOptions& options, const LoadContext& context,
                           JobSettings& settings) {
  settings.row_kind = RowKind::kDagTask;
  const std::string& file = options.sources.files.front();
  std::string name = file == "-" ? "standard input" : EscapeForScreen(file);
  auto text = TRY(ReadWhole(options, context, file, name));
  auto known = TRY(context.known_names ? context.known_names() : std::vector<std::string>());
  return GraphLoader(options, std::move(name), std::move(known)).Load(std::move(text));
}

}  // namespace spate::cli
