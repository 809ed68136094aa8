// `spate ps`: every process of the user's running tasks, on all nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/near.h"
#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/live_screen.h"
#include "command/spate/process_table.h"
#include "os/process.h"
#include "present/json/json_fields.h"

namespace spate::cli::command {
namespace {

using std::string_view_literals::operator""sv;

constexpr Option kTree = {
    .names = "tree", .heading = Heading::kOutput, .help = "show each process below its parent"};
constexpr std::array kOrders = {"task"sv, "cpu"sv, "memory"sv, "time"sv, "elapsed"sv, "threads"sv};
static_assert(kOrders.size() == kCountOf<ProcessOrder>);
constexpr Option kSort = {.names = "sort",
                          .argument = "KEY",
                          .heading = Heading::kOutput,
                          .help = "order: task, cpu, memory, time, elapsed or threads",
                          .more = "task is the default; by the others the largest comes first.",
                          .complete = Complete::kWords,
                          .words = "task cpu memory time elapsed threads"};
constexpr Option kWatch = {.names = "watch",
                           .argument = "T",
                           .heading = Heading::kOutput,
                           .help = "look again every T, such as 2s, until Ctrl-C",
                           .more = "CPU is then the share of the time since the last look."};
constexpr Option kRanks = {
    .names = "ranks",
    .heading = Heading::kOutput,
    .help = "print task, rank, node, pid of each rank, with tabs",
    .more = "For debuggers: the first process of each rank, by task and rank. The form is stable."};
constexpr Option kPid = {.names = "pid",
                         .argument = "PID",
                         .heading = Heading::kSelect,
                         .help = "print the task that owns process PID of this machine"};
constexpr Option kOfAllUsers = {.names = "all",
                                .heading = Heading::kSelect,
                                .help = "show all users' processes (administrators only)"};

struct Wish {
  wire::ListProcesses question;
  ProcessOrder order = ProcessOrder::kTask;
  bool tree = false, ranks = false;
  std::optional<Duration> every;
};

Result<ProcessOrder> OrderOf(const Words& words) {
  auto value = words.Last(kSort);
  if (!value) return ProcessOrder::kTask;
  const auto at = std::ranges::find(kOrders, *value);
  if (at != kOrders.end()) return static_cast<ProcessOrder>(at - kOrders.begin());
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("--sort: '{}' is not an order of processes{}; write one of: {}",
                  EscapeForScreen(*value), DidYouMean(*value, kOrders), fmt::join(kOrders, " ")));
}

Result<Wish> WishOf(HistoryCall& call) {
  const Words& words = call.words();
  Wish wish{.tree = words.Has(kTree), .ranks = words.Has(kRanks)};
  wish.order = TRY(OrderOf(words));
  if (auto value = words.Last(kWatch)) {
    auto every = ParseDuration(*value);
    if (!every) return Within("--watch", std::move(every.error()));
    if (*every < Duration::Millis(200)) {
      return Fail(ErrorKind::kInvalid,
                  "--watch: nodes look every 0.2s at most; write a longer time");
    }
    wish.every = *every;
  }
  if (auto value = words.Last(kPid)) {
    const auto pid = ReadNumber<int32_t>(*value);
    if (!pid || *pid <= 0) {
      return Fail(ErrorKind::kInvalid, fmt::format("--pid: '{}' is not the number of a process",
                                                   EscapeForScreen(*value)));
    }
    if (os::StartTimeOf(*pid) == 0) {
      return Fail(ErrorKind::kNotFound, fmt::format("--pid: this machine has no process {}", *pid));
    }
    wish.question.pid = static_cast<uint32_t>(*pid);
  }
  wish.question.everybody = words.Has(kOfAllUsers);
  if (words.words.empty()) return wish;
  if (wish.question.everybody) {
    return Fail(ErrorKind::kInvalid, "--all: leave it out to see the processes of named jobs");
  }
  wish.question.tasks = TRY(SelectTasks(words.words));
  auto asker = TRY(call.Whom());
  for (wire::TaskPick& pick : wish.question.tasks) TRY(LookUpNames(*asker, pick.tasks));
  return wish;
}

Result<std::vector<NodeProcesses>> LookOnce(HistoryCall& call, const Wish& wish) {
  std::vector<NodeProcesses> answers;
  TRY(call.Query(wish.question,
                 [&](NodeProcesses answer) { answers.push_back(std::move(answer)); }));
  return answers;
}

std::string TextOf(const HistoryCall& call, const Wish& wish, const ProcessRows& rows) {
  std::string text;
  auto add = [&](std::string_view line) { text += line; };
  if (wish.ranks) {
    for (const ProcessRow& row : rows.Ranks()) text += RankLine(row);
    return text;
  }
  const auto sorted = rows.In(wish.order, wish.tree);
  WriteProcesses(sorted, call.width(), call.environment().colour, wish.question.everybody,
                 wish.tree, add);
  return text;
}

void PutJson(HistoryCall& call, const Wish& wish, const ProcessRows& rows,
             const std::vector<NodeProcesses>& answers) {
  const auto shown = wish.ranks ? rows.Ranks() : rows.In(wish.order, wish.tree);
  for (const ProcessRow& row : shown) call.Write(JsonOfProcess(row));
  for (const NodeProcesses& node : answers) {
    if (node.why.empty() && node.left_out == 0) continue;
    call.Write(present::JsonOf("process_node", "node", node.node, "why", present::OrNull(node.why),
                               "left_out", node.left_out));
  }
}

// Programs of this machine that have jobs of their own.
void SayMasters(HistoryCall& call) {
  if (!call.words().words.empty() || !call.environment().masters || !call.human()) return;
  for (const std::string& socket : call.environment().masters(call.state_dir())) {
    call.Report("processes of a running program: spate ps --at " + ShellQuote(socket));
  }
}

void PutOnce(HistoryCall& call, const Wish& wish, const ProcessRows& rows,
             const std::vector<NodeProcesses>& answers) {
  if (call.form() == OutputForm::kJson) return PutJson(call, wish, rows, answers);
  if (call.form() == OutputForm::kQuiet && !wish.ranks) {
    for (const ProcessRow& row : rows.In(wish.order, wish.tree)) {
      call.Write(EscapeForScreen(row.Id()) + "\n");
    }
  } else {
    call.Write(TextOf(call, wish, rows));
  }
  for (const std::string& missing : MissingText(answers)) call.Report(missing);
}

std::string FirstLines(const std::string& text, uint64_t most) {
  size_t end = 0;
  for (uint64_t i = 0; i < most && end < text.size(); ++i) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

// Until Ctrl-C: on a terminal one screen, elsewhere one list after another.
Result<int> Watch(HistoryCall& call, const Wish& wish, ProcessRows& rows) {
  const bool screen = call.human() && call.environment().terminal;
  std::unique_ptr<LiveScreen> live;
  if (screen) live = TRY(LiveScreen::Open(call));
  while (true) {
    auto answers = TRY(LookOnce(call, wish));
    rows.Set(answers, call.environment().now());
    if (!screen) {
      PutOnce(call, wish, rows, answers);
      TRY(call.Flush());
      call.environment().pause(*wish.every);
      continue;
    }
    std::string text = fmt::format("{}", fmt::join(MissingText(answers), "\n"));
    if (!text.empty()) text += '\n';
    text = FirstLines(text + TextOf(call, wish, rows), LiveScreen::Lines());
    if (!TRY(live->Draw(text, true, *wish.every))) return kExitSuccess;
  }
}

// The task that owns a process of this machine: nodes of others may have one with the same number.
Result<int> PrintOwner(HistoryCall& call, const Wish& wish) {
  auto answers = TRY(LookOnce(call, wish));
  const uint64_t start = os::StartTimeOf(static_cast<os::Pid>(wish.question.pid));
  const std::string boot = os::BootId();
  const auto missing = MissingText(answers);
  std::erase_if(answers, [&](const NodeProcesses& node) { return node.boot != boot; });
  for (NodeProcesses& node : answers) {
    for (AttemptProcesses& attempt : node.attempts) {
      std::erase_if(attempt.processes, [&](const auto& each) { return each.start != start; });
    }
  }
  ProcessRows rows;
  rows.Set(answers, call.now());
  const auto found = rows.In(ProcessOrder::kTask, false);
  if (found.empty()) {
    for (const auto& each : missing) call.Report(each);
    return Fail(ErrorKind::kNotFound,
                fmt::format("process {} belongs to no running task {}", wish.question.pid,
                            wish.question.everybody ? "here" : "of yours"));
  }
  for (const ProcessRow& row : found) {
    call.Write(call.form() == OutputForm::kJson ? JsonOfProcess(row) : row.TaskText() + "\n");
  }
  return kExitSuccess;
}

Result<int> Ps(HistoryCall& call) {
  const Wish wish = TRY(WishOf(call));
  if (wish.question.pid != 0) return PrintOwner(call, wish);
  ProcessRows rows;
  if (wish.every) return Watch(call, wish, rows);
  auto answers = TRY(LookOnce(call, wish));
  rows.Set(answers, call.now());
  if (call.human() && !wish.ranks && !rows.empty()) call.WriteTitle();
  PutOnce(call, wish, rows, answers);
  if (call.human() && rows.empty()) {
    call.Report(call.words().words.empty() ? "no process of a task runs"
                                           : "no process of these tasks runs");
  }
  if (!call.on_hub()) SayMasters(call);
  return kExitSuccess;
}

}  // namespace

extern const Command kSpatePs = {
    .order = 197,
    .group = CommandGroup::kRunning,
    .name = "ps",
    .arguments = "[JOB|TASK...]",
    .completes = Completes::kUnfinishedJobs,
    .summary = "list the processes of running tasks, on all nodes",
    .details =
        "Without words, all processes of your running tasks. A process is shown as "
        "JOB.TASK@NODE:PID, a rank of a gang or of an MPI launcher as JOB.TASK.RANK@NODE:PID. CPU "
        "is in percent of one processor, over the life of the process; TIME is the processor time "
        "that it used itself; MEMORY is resident memory. GPU memory is shown where nvidia-smi "
        "tells. Nodes that do not answer within 2 s are named.",
    .examples = {{{"spate ps", "all of your processes"},
                  {"spate ps 12 --tree", "of job 12, each below its parent"},
                  {"spate ps --sort memory --watch 2s", "the largest first, every 2 seconds"},
                  {"spate ps --pid 4711", "the task that owns this process here"}}},
    .options = {{opt::kAboutJobs, kTree, kSort, kWatch, kRanks, kPid, kOfAllUsers}},
    .run = LookAtJobs<Ps>,
};

}  // namespace spate::cli::command
