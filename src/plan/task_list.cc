// Reading of job lists; tasks of a command are in value_list.cc.
#include "plan/task_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "base/near.h"
#include "base/number.h"
#include "base/units.h"
#include "cli/options/values.h"
#include "core/model/limits.h"
#include "format/dag_line.h"
#include "format/expand.h"
#include "format/joblist/reader.h"
#include "format/list_line.h"
#include "format/name_table.h"
#include "format/script_text.h"
#include "format/shell_words.h"
#include "os/fd.h"
#include "os/file.h"
#include "plan/batch_script.h"
#include "plan/list_graph.h"
#include "plan/placeholder_check.h"
#include "plan/problems.h"
#include "plan/script_check.h"
#include "plan/slow_list.h"
#include "plan/value_list.h"

namespace spate::cli {
namespace {

constexpr size_t kListPiece = 256 * 1024;

// The rows of all lists, end to end; a row ends where the next one begins.
struct RowText {
  std::string bytes;
  std::vector<uint64_t> ends;
};

class ListLoader {
 public:
  ListLoader(const RunOptions& options, const LoadContext& context)
      : options_(options), context_(context) {}

  Status Load(const std::string& file) {
    std::string name = file == "-" ? "standard input" : EscapeForScreen(file);
    os::Fd opened;
    int fd = context_.stdin_fd;
    if (file != "-") {
      auto open = TRY(os::OpenRead(file));
      opened = std::move(open);
      fd = opened.get();
      if (auto info = os::StatFd(fd, file)) {
        text_->bytes.reserve(text_->bytes.size() + info->size);
      }
    }
    format::JobListReader reader(options_.sources.follow_until);
    SlowList slow(options_, context_, fd, name);
    std::string piece(kListPiece, '\0');
    for (bool first = true; !reader.ended(); first = false) {
      slow.BeforeRead();
      auto size = os::ReadSome(fd, piece.data(), piece.size(), name);
      if (!size) return Fail(ErrorKind::kInvalid, size.error().message);
      if (*size == 0) break;
      auto text = std::string_view(piece).substr(0, *size);
      slow.AfterRead(text);
      if (first) {
        TRY(CheckNoScript(options_, file, text));
      }
      reader.Feed(text);
      TRY(AddAll(file, name, reader));
    }
    reader.Finish();
    return AddAll(file, name, reader);
  }

  Result<TaskList> Finish() {
    TaskList list;
    list.count = static_cast<uint32_t>(text_->ends.size());
    if (graph_.has_edges()) {
      auto known = TRY(context_.known_names ? context_.known_names() : std::vector<std::string>());
      list.edges = graph_.DrainEdges(list.count, known, problems_);
      list.known_tasks = static_cast<uint32_t>(known.size());
      if (options_.order != TaskOrder::kGiven) {
        problems_.Add("--order: a list with {after} determines the order itself");
      }
    }
    if (problems_.any()) return std::unexpected(problems_.ToError());
    list.requests = std::move(table_.requests());
    list.runs = std::move(table_.runs());
    list.places = std::move(table_.places());
    list.forwards = forwards_;
    list.needs_shell = needs_shell_;
    list.rows = [text = std::shared_ptr<const RowText>(text_)](const RowVisitor& visit) {
      uint64_t start = 0;
      for (uint64_t end : text->ends) {
        visit(std::string_view(text->bytes).substr(start, end - start));
        start = end;
      }
    };
    return list;
  }

 private:
  Status AddAll(const std::string& file, const std::string& name, format::JobListReader& reader) {
    while (auto entry = reader.Next()) {
      std::string why;
      if (entry->parsed) why = WhyScript(options_, file, entry->parsed->command);
      if (!why.empty()) {
        return Fail(ErrorKind::kInvalid,
                    fmt::format("{}:{}: {}\nnothing was started", name, entry->line, why));
      }
      Add(name, *entry);
    }
    return {};
  }

  void Add(const std::string& name, const format::JobListReader::Entry& entry) {
    auto place = [&] { return fmt::format("{}:{}", name, entry.line); };
    if (!entry.parsed) {
      problems_.Add(fmt::format("{}: {}", place(), entry.parsed.error().message));
      return;
    }
    if (text_->ends.size() >= kLimits.tasks_per_job) {
      if (text_->ends.size() == kLimits.tasks_per_job) {
        problems_.Add(fmt::format("{}: more than {} tasks in one run; split the list", place(),
                                  kLimits.tasks_per_job));
      }
      return;
    }
    const format::ListLine& line = *entry.parsed;
    forwards_ |= !line.pipe_forwards.empty();
    needs_shell_ = needs_shell_ || format::NeedsShell(line.command);
    if (!line.pipe_forwards.empty() && !options_.gang.empty()) {
      problems_.Add(
          fmt::format("{}: {{forward}}: the output of a gang's processes is separated by rank; "
                      "leave it out, or leave out --procs and --nodes",
                      place()));
    }
    graph_.Add(static_cast<TaskIndex>(text_->ends.size()), line, place, problems_);
    if (std::string why = WhyMistypedIn(line, options_.literal_braces); !why.empty()) {
      problems_.Add(fmt::format("{}: {}", place(), why));
    }
    // Files made by other tasks do not exist yet.
    if (context_.run_input_checks && !line.checks.empty() && line.after.empty()) {
      std::string why = WhyInputFails(line, context_);
      if (!why.empty()) problems_.Add(fmt::format("{}: {}", place(), why));
    }
    table_.Add(static_cast<TaskIndex>(text_->ends.size()),
               ClassOf(options_, NeedsOf(line, options_.needs)), place);
    if (table_.requests().size() == kLimits.requests + 1 && !std::exchange(too_many_, true)) {
      problems_.Add(
          fmt::format("{}: more than {} different needs in one run; round them up, as in "
                      "{{use ram 4G}} for 3.7G, or split the list",
                      place(), FormatCount(kLimits.requests)));
    }
    text_->bytes.append(entry.row);
    text_->ends.push_back(text_->bytes.size());
  }

  const RunOptions& options_;
  const LoadContext& context_;
  std::shared_ptr<RowText> text_ = std::make_shared<RowText>();
  RequestTable table_;
  ListGraph graph_;
  bool forwards_ = false;
  bool needs_shell_ = false;
  bool too_many_ = false;  // needs, and told
  Problems problems_;
};

}  // namespace

Status CheckNoScript(const RunOptions& options, const std::string& file,
                     std::string_view beginning) {
  auto script = format::FindScript(beginning);
  if (!script) return beginning.starts_with("#!") ? Status() : CheckListName(options, file);
  std::string command = "FILE";
  if (file != "-") {
    bool runs = os::MayAccess(file, "x");
    command = file.find('/') == std::string::npos && runs ? "./" + file : file;
    command = ShellQuote(command);
    if (!runs) {
      command =
          fmt::format("{} {}", script->interpreter.empty() ? "sh" : script->interpreter, command);
    }
  }
  const BatchRequests requests = ReadDirectives(script->directives, options.is_submit);
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("{}: this is a script, not a list ('{}'); each line would run as a separate "
                  "task, all at once; to run the script: {}\n{}nothing was started",
                  file == "-" ? "standard input" : EscapeForScreen(file),
                  EscapeForScreen(script->sign), EscapeForScreen(requests.Command("", command)),
                  requests.OthersText()));
}

std::string WhyInputFails(const format::ListLine& line, const LoadContext& context) {
  std::string all;
  for (const Check& check : line.checks) {
    if (check.when != CheckWhen::kIn) continue;
    std::string why = context.why_check_fails(check.kind, check.file.c_str());
    if (!why.empty()) all += (all.empty() ? "" : "; ") + EscapeForScreen(why);
  }
  return all;
}

Needs NeedsOf(const format::ListLine& line, const Needs& defaults) {
  Needs needs = defaults;
  if (line.milli_cpus) needs.milli_cpus = *line.milli_cpus;
  if (line.memory) needs.memory = *line.memory;
  return needs;
}

namespace {

class Targets {
 public:
  Targets(RowKind kind, const TaskList& list) : count_(list.count) {
    TaskIndex next = 0;
    list.rows([&](std::string_view row) {
      std::string name;
      if (kind == RowKind::kDagTask) {
        name = format::DagTaskName(row);
      } else if (row.find("{name") != std::string_view::npos) {
        if (auto line = format::ParseListLine(row)) name = std::move(line->name);
      }
      if (!name.empty()) names_.Add(texts_.emplace_back(std::move(name)), next);
      ++next;
    });
  }

  bool has_names() const { return names_.size() > 0; }
  bool IsAll(std::string_view word) const { return word == "all" && !names_.Find(word); }

  // The same names as in selectors (format/selector/selector.h), but without ranges.
  Result<TaskIndex> Find(std::string_view word) const {
    constexpr std::string_view kNumberMark = "#", kNameMark = "name=";
    std::string_view text = word;
    if (word.starts_with(kNumberMark)) text.remove_prefix(kNumberMark.size());
    if (word.starts_with(kNameMark)) text.remove_prefix(kNameMark.size());
    auto named = word.starts_with(kNumberMark) ? std::nullopt : names_.Find(text);
    auto number = word.starts_with(kNameMark) ? std::nullopt : ReadNumber<uint32_t>(text);
    if (number && (*number == 0 || *number > count_)) number.reset();
    if (named && number && *named + 1 != *number) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--target {0} has two readings: task {0} by number, and task {1}, "
                              "which is called {0}; write '#{0}' or 'name={0}'",
                              EscapeForScreen(text), *named + 1));
    }
    if (named) return *named;
    if (number) return *number - 1;
    std::vector<std::string_view> names;
    for (size_t i = 0; i < names_.size(); ++i) names.push_back(names_.NameAt(i));
    return Fail(ErrorKind::kInvalid,
                fmt::format("--target: no task is called {}{}", EscapeForScreen(ShellQuote(text)),
                            EscapeForScreen(DidYouMean(text, names))));
  }

 private:
  const uint32_t count_;
  std::deque<std::string> texts_;  // that the table points to
  format::NameTable names_;
};

// Marks these tasks and all that they wait for as wanted.
void AddNeeded(std::vector<Edge> edges, std::vector<TaskIndex> next, std::vector<bool>& wanted) {
  std::ranges::sort(edges, {}, &Edge::child);
  while (!next.empty()) {
    const TaskIndex at = next.back();
    next.pop_back();
    if (wanted[at]) continue;
    wanted[at] = true;
    for (const Edge& edge : std::ranges::equal_range(edges, at, {}, &Edge::child)) {
      next.push_back(edge.parent);
    }
  }
}

// Tasks are numbered without those that are left out.
void Keep(std::vector<bool> wanted, TaskList& list) {
  RequestTable table;
  std::vector<TaskIndex> now(list.count);
  uint32_t count = 0;
  for (const RequestRun& run : list.runs) {
    for (TaskIndex i = run.first; i < run.first + run.count; ++i) {
      if (!wanted[i]) continue;
      now[i] = count;
      table.Add(count++, list.requests[run.request], [&] { return list.places[run.request]; });
    }
  }
  std::erase_if(list.edges, [&](const Edge& edge) { return !wanted[edge.child]; });
  for (Edge& edge : list.edges) edge = {now[edge.parent], now[edge.child]};
  list.count = count;
  list.requests = std::move(table.requests());
  list.runs = std::move(table.runs());
  list.places = std::move(table.places());
  list.rows = [all = std::move(list.rows), wanted = std::move(wanted)](const RowVisitor& visit) {
    size_t at = 0;
    all([&](std::string_view row) {
      if (wanted[at++]) visit(row);
    });
  };
}

// --target: leaves out every task that is not named and that no named task waits for, directly or
// through others. `targets`: lists of names and numbers with commas. Errors are kInvalid.
Status KeepTargets(const std::vector<std::string>& targets, RowKind kind, TaskList& list) {
  const Targets tasks(kind, list);
  if (!tasks.has_names() && list.edges.empty()) {
    return Fail(
        ErrorKind::kInvalid,
        "--target: no task of this list has a name; name a line's task with {name NAME}, and "
        "name the tasks that it waits for with {after NAME}");
  }
  std::vector<TaskIndex> named;
  for (const std::string& words : targets) {
    for (std::string_view word : SplitCommas(words)) {
      if (tasks.IsAll(word)) return {};
      named.push_back(TRY(tasks.Find(word)));
    }
  }
  std::vector<bool> wanted(list.count);
  AddNeeded(list.edges, std::move(named), wanted);
  Keep(std::move(wanted), list);
  return {};
}

Result<TaskList> LoadAnyList(const RunOptions& options, const LoadContext& context,
                             JobSettings& settings) {
  if (options.sources.input.any()) return LoadPartList(options, context, settings);
  if (options.sources.array) return LoadArray(options, settings);
  if (options.sources.has_command) return LoadValueList(options, context, settings);
  if (options.sources.is_graph()) return LoadGraph(options, context, settings);
  settings.row_kind = RowKind::kListLine;
  ListLoader loader(options, context);
  for (const std::string& file : options.sources.files) {
    TRY(loader.Load(file));
  }
  return loader.Finish();
}

}  // namespace

Result<TaskList> LoadTaskList(const RunOptions& options, const LoadContext& context,
                              JobSettings& settings) {
  const auto& targets = options.sources.targets;
  LoadContext first = context;
  first.run_input_checks &= targets.empty();  // inputs of other tasks do not matter
  auto list = LoadAnyList(options, first, settings);
  if (list && !targets.empty()) {
    TRY(KeepTargets(targets, settings.row_kind, *list));
    if (context.run_input_checks) {
      TRY(CheckInputs(list->rows, [](uint32_t) { return true; }, context));
    }
  }
  if (!list) return list;
  list->needs_shell |= format::MayNeedShell(settings);
  auto sound = CheckPlaceholders(options, settings);
  return sound ? std::move(list) : std::unexpected(std::move(sound.error()));
}

Status CheckInputs(const RowSource& rows, const std::function<bool(uint32_t position)>& wanted,
                   const LoadContext& context) {
  Problems problems;
  uint32_t position = 0;
  rows([&](std::string_view row) {
    uint32_t at = position++;
    if (row.find("{check") == std::string_view::npos || !wanted(at)) return;
    auto line = format::ParseListLine(row);
    if (!line || !line->after.empty()) return;
    std::string why = WhyInputFails(*line, context);
    if (!why.empty()) problems.Add(fmt::format("task {}: {}", at + 1, why));
  });
  if (problems.any()) return std::unexpected(problems.ToError());
  return {};
}

GrownRequests RequestsOfAdded(const TaskList& list, const std::vector<uint32_t>& added,
                              const std::vector<TaskClass>& before, TaskIndex first) {
  RequestTable table(before);
  auto run = list.runs.begin();
  for (uint32_t position : added) {
    while (position >= run->first + run->count) ++run;
    table.Add(first++, list.requests[run->request], [] { return std::string(); });
  }
  GrownRequests grown;
  grown.new_requests.assign(table.requests().begin() + static_cast<std::ptrdiff_t>(before.size()),
                            table.requests().end());
  grown.runs = std::move(table.runs());
  return grown;
}

}  // namespace spate::cli
