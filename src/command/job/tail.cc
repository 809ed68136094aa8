// The last lines that the tasks of a job wrote, in the order in which they ended, as tail(1); or
// those of one task, also while it runs.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/output.h"
#include "command/job/task_tail.h"
#include "present/text/end_text.h"
#include "view/failures.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kLastLines = {.names = "lines",
                               .letters = "n",
                               .argument = "N",
                               .heading = Heading::kSelect,
                               .help = "number of lines to print (default: 10)",
                               .more = "For one task: of each stream."};
constexpr Option kTailRank = {.names = "rank",
                              .argument = "N",
                              .heading = Heading::kSelect,
                              .help = "gangs only: print output of process N (default: 0)",
                              .more = "Processes are numbered from 0, like SPATE_RANK."};

constexpr uint64_t kLines = 10;

Result<TailWish> WishOf(const Words& words) {
  TailWish wish{.lines = kLines, .follow = words.Has(opt::kFollowOutput)};
  wish.streams = TRY(StreamsOf(words));
  if (auto value = words.Last(kLastLines)) {
    auto count = ParseCount(*value);
    if (!count) return Within("--lines", std::move(count.error()));
    wish.lines = *count;
  }
  wish.rank = TRY(RankOf(words, kTailRank));
  return wish;
}

// The task that the word names, by its number; nullopt: it names a job.
Result<std::optional<TasksOfJob>> NamedTask(HistoryCall& call) {
  auto picks = TRY(SelectTasks(call.words().words));
  if (picks.empty() || picks.front().tasks.empty()) return std::nullopt;
  std::vector<TasksOfJob> tasks = std::move(picks.front().tasks);
  auto asker = TRY(call.Whom());
  TRY(LookUpNames(*asker, tasks));
  const bool one = tasks.size() == 1 && !tasks.front().all && tasks.front().ranges.size() == 1 &&
                   tasks.front().ranges.front().first == tasks.front().ranges.front().last;
  if (one) return std::move(tasks.front());
  return Fail(ErrorKind::kInvalid,
              fmt::format("name one task, as in: spate {} 12.3", call.words().command->name));
}

// The task of a job that has just one and has not ended; nullopt: it is another job.
Result<std::optional<TasksOfJob>> OnlyTask(HistoryCall& call, const JobSelector& job) {
  std::optional<TasksOfJob> task;
  JobSelector one = job;
  one.last |= one.ranges.empty();
  TRY(call.Query(wire::ListJobs{.jobs = std::move(one), .most = 1},
                 [&](const wire::JobsListed& listed) {
                   for (const JobFacts& each : listed.jobs) {
                     const JobCounts& counts = each.counts;
                     if (counts.total != 1 || counts.finished() == 1) continue;
                     task = TasksOfJob{.job = each.job.value, .ranges = {{1, 1, 1}}};
                   }
                 }));
  return task;
}

constexpr size_t kMostRunning = 10;

// The numbers of the tasks of a hub's job that run. The hub hears of a start a little later: where
// it has heard of none, the first few that nodes have.
std::vector<uint32_t> RunningTasks(HistoryCall& call, JobSelector job, JobId& id) {
  std::vector<uint32_t> tasks;
  job.last |= job.ranges.empty();
  (void)call.Query(wire::LookAtJobs{std::move(job)}, [&](const wire::JobNow& now) {
    id = now.job;
    for (const RunningFacts& part : now.running) {  // of a gang there are several
      if (tasks.empty() || tasks.back() != part.task) tasks.push_back(part.task);
    }
  });
  if (!tasks.empty() || id == JobId()) return tasks;
  wire::ListTasks question;
  question.tasks.push_back({.jobs = {.ranges = {{id.value, id.value, 1}}}, .tasks = {}});
  question.states = 1u << static_cast<unsigned>(TaskState::kLeased);
  question.most = kMostRunning;
  question.commands = false;
  (void)call.Query(std::move(question), [&](const wire::TasksListed& some) {
    for (const TaskFacts& task : some.tasks) tasks.push_back(task.index + 1);
  });
  return tasks;
}

// Prints the last lines of running tasks, each with its task's number. Returns whether some run.
bool TailRunning(HistoryCall& call, JobSelector job, TailWish wish) {
  JobId id;
  std::vector<uint32_t> tasks;
  if (call.on_hub()) tasks = RunningTasks(call, std::move(job), id);
  for (size_t i = 0; i < std::min(tasks.size(), kMostRunning); ++i) {
    wish.tag = fmt::format("{}.{}: ", id.value, tasks[i]);
    auto read = TailTask(call, {.job = id.value, .ranges = {{tasks[i], tasks[i], 1}}}, wish);
    if (!read) call.Report(read.error().message);
  }
  if (tasks.size() > kMostRunning) {
    call.Report(fmt::format("{} are not shown; to read one: spate job tail{} {}.{}",
                            present::CountOf(tasks.size() - kMostRunning, "running task"),
                            call.StateOption(), id.value, tasks[kMostRunning]));
  }
  return !tasks.empty();
}

// Prints the last lines of a whole job.
Result<int> TailJob(HistoryCall& call, JobSelector job, const TailWish& wish) {
  if (wish.follow) return FollowOutput(call, wish.lines);
  std::optional<JobId> none;
  TRY(call.Query(wire::TailOutput{job, wish.streams, wish.lines}, [&](const OutputFacts& piece) {
    if (piece.what == OutputFacts::What::kBytes) return PutBytes(call, wish.streams, piece);
    none = piece.job;
  }));
  TRY(call.Flush());
  auto lost = AskNotKept(*TRY(call.Whom()), job, [&](auto text) { call.Report(text); });
  const bool runs = TailRunning(call, std::move(job), wish);
  if (lost) return *lost;
  if (!runs && none) {
    call.Report(fmt::format("no task of job {} has printed anything yet", none->value));
  }
  return kExitSuccess;
}

Result<int> JobTail(HistoryCall& call) {
  const TailWish wish = TRY(WishOf(call.words()));
  if (auto task = TRY(NamedTask(call))) return TailTask(call, std::move(*task), wish);
  auto job = TRY(SelectOneJob(call.words()));
  if (auto task = TRY(OnlyTask(call, job))) return TailTask(call, std::move(*task), wish);
  if (wish.rank) {
    return Fail(ErrorKind::kInvalid, "--rank: name one task, as in: spate job tail 12.3 --rank 1");
  }
  auto told = TailJob(call, std::move(job), wish);
  // A program without a journal can only show tasks while they run.
  const bool refused = !told && told.error().kind == ErrorKind::kUnavailable;
  if (refused && call.words().Has(opt::kAt)) {
    call.Report(
        fmt::format("to read what a running task has written so far: spate job tail{} JOB.TASK",
                    call.StateOption()));
  }
  return told;
}

}  // namespace

extern const Command kJobTail = {
    .order = 70,
    .group = CommandGroup::kHistory,
    .name = "job tail",
    .arguments = "[JOB]",
    .completes = Completes::kJobs,
    .summary = "print the last output lines of a job or task (default: last)",
    .details =
        "The lines are in the order in which the tasks ended, and include all tries of a task. "
        "For a hub's job, the last lines of up to ten running tasks follow, with task numbers. "
        "JOB "
        "may name one task, such as 12.3: its output is printed while it runs, and with --follow "
        "until it has ended. A job of one task that has not ended means that task.",
    .examples = {{{"spate job tail", "the last 10 lines of the newest job"},
                  {"spate job tail 12 -n 50 --follow", "the last 50 lines, and new output"},
                  {"spate job tail -f 12.3", "what task 3 writes, until it ends"},
                  {"spate job tail -f 12.1 --rank 3", "what rank 3 of a gang writes"}}},
    .words_max = 1,
    .options = {{opt::kState, opt::kStream, opt::kStderrOnly, opt::kFollowOutput, kLastLines,
                 kTailRank, opt::kWhose, opt::kAt}},
    .run = LookAtJobs<JobTail>,
};

}  // namespace spate::cli::command
