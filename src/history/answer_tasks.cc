// Lists of tasks, and all about one.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "format/list_line.h"
#include "history/call.h"
#include "history/job_facts.h"
#include "history/live_tasks.h"
#include "history/log_facts.h"
#include "history/pick.h"
#include "history/task_texts.h"

namespace spate::history {
AttemptFacts AttemptFactsOf(const store::AttemptEntry& attempt) {
  const engine::AttemptEnded& record = attempt.record;
  return {record.end,
          record.verdict,
          record.counts,
          record.ended,
          attempt.kept.stdout_bytes,
          attempt.kept.stderr_bytes,
          attempt.kept.files_bytes};
}

namespace {

// One answer is a message: its tasks, and the bytes of their texts.
constexpr size_t kTaskRows = 256;
constexpr size_t kTaskTexts = 1 << 20;
constexpr size_t kStderrEnd = 16 << 10;
// Limits for the facts of one task, whatever its node or its sender made up.
constexpr size_t kMostCommand = 4 << 20;
constexpr size_t kMostNotes = 4 << 20;

std::string Bounded(std::string command) {
  if (command.size() <= kMostCommand) return command;
  command.resize(kMostCommand);
  return command + "...";
}

TaskFacts FactsOf(const store::TaskSummary& task) {
  TaskFacts facts;
  facts.index = task.index;
  facts.state = task.state;
  facts.is_next = task.is_next;
  facts.attempts = task.attempts;
  facts.tries = task.tries;
  if (task.last) facts.last = AttemptFactsOf(*task.last);
  facts.withdrawn = task.left_list;
  return facts;
}

// The processes of a job's tasks; none when nobody runs it or they cannot be seen.
std::vector<LiveTask> LiveTasksOf(const Source& source, const store::JobSummary& job) {
  if (!job.owner) return {};
  return FindLiveTasks(source.proc, *job.owner, JobId(job.number), source.now());
}

Result<std::string> StderrEnd(store::JobJournal& history, const store::AttemptEntry& attempt) {
  std::string end;
  auto read =
      history.ReadOutput(attempt, store::Stream::kStderr, [&](std::string_view bytes, uint64_t) {
        end += bytes;
        if (end.size() > 2 * kStderrEnd) end.erase(0, end.size() - kStderrEnd);
      });
  if (!read) return std::unexpected(std::move(read.error()));
  if (end.size() > kStderrEnd) end.erase(0, end.size() - kStderrEnd);
  return end;
}

// ---- Lists -------------------------------------------------------------------------------------

// Tells the tasks of one job after another.
class TaskLister {
 public:
  TaskLister(const Asking& call, const wire::ListTasks& asked)
      : call_(call), asked_(asked), left_(asked.most) {}
  Status Tell(const PickedTasks& picked);
  bool full() const { return left_ == 0; }

 private:
  Result<TaskFacts> FactsFor(store::JobJournal& history, TaskTexts& texts,
                             const store::TaskSummary& task) const;

  const Asking& call_;
  const wire::ListTasks& asked_;
  uint64_t left_;
};

Result<TaskFacts> TaskLister::FactsFor(store::JobJournal& history, TaskTexts& texts,
                                       const store::TaskSummary& task) const {
  TaskFacts facts = FactsOf(task);
  if (asked_.commands) {
    auto command = TRY(texts.Command(task.index, 0));
    facts.command = Bounded(std::move(command));
    facts.name = texts.Name(task.index);
  }
  if (asked_.stderr_ends && task.last) {
    // Output that is damaged is no reason to tell nothing of the task.
    facts.stderr_end = StderrEnd(history, *task.last).value_or("");
  }
  return facts;
}

Status TaskLister::Tell(const PickedTasks& picked) {
  auto history = TRY(call_.source.Open(picked.job));
  TaskTexts texts(call_.source, *history);
  std::set<TaskIndex> alive;
  for (const LiveTask& task : LiveTasksOf(call_.source, history->summary())) {
    alive.insert(task.index);
  }
  wire::TasksListed answer{JobId(picked.job), store::NameOf(history->summary().row), {}};
  size_t texts_bytes = 0;
  Status status;
  auto visited = VisitTasks(*history, picked, asked_.states, [&](const store::TaskSummary& task) {
    auto facts = FactsFor(*history, texts, task);
    if (!facts) {
      status = std::unexpected(std::move(facts.error()));
      return false;
    }
    facts->is_next |=
        task.state == TaskState::kLeased && !alive.empty() && !alive.contains(task.index);
    texts_bytes += facts->command.size() + facts->stderr_end.size();
    answer.tasks.push_back(std::move(*facts));
    if (answer.tasks.size() == kTaskRows || texts_bytes > kTaskTexts) {
      status = call_.Put(answer);
      answer.tasks.clear();
      texts_bytes = 0;
    }
    return --left_ > 0 && status;
  });
  // Tasks found before an error are reported all the same.
  if (auto put = call_.Put(answer); status) status = put;
  return visited ? status : visited;
}

// ---- All about one -----------------------------------------------------------------------------

// Data that all tasks of a job share.
struct JobAtHand {
  const Source& source;
  store::JobJournal& history;
  TaskTexts texts;
  LogFacts log;
  JobFacts facts;
  std::vector<LiveTask> live;
};

void AddFiles(JobAtHand& job, TaskDetails& details, uint16_t slot) {
  auto body = job.texts.Body({.index = details.task.index, .slot = slot});
  if (!body) return;
  details.stdin_file = std::move(body->stdin_file);
  details.stdout_file = std::move(body->stdout_file);
  details.stderr_file = std::move(body->stderr_file);
}

// Adds what the task's line states next to its command.
void AddLine(JobAtHand& job, TaskDetails& details) {
  if (job.texts.settings().row_kind != RowKind::kListLine) return;
  auto row = job.history.RowText(details.task.index);
  if (!row) return;
  if (auto line = format::ParseListLine(*row)) details.checks = std::move(line->checks);
  // The lists of a hub's job are where its user is, and not for the hub to read.
  if (!job.source.on_hub()) details.row = std::move(*row);
}

// In words; of one that has left its list: none.
std::optional<std::string> WhyCancelled(JobAtHand& job, TaskIndex index) {
  const LogFacts::Cancelled* why = job.log.WhyCancelled(index);
  if (why == nullptr) return std::nullopt;
  if (!why->parent) return why->reason;
  std::string name = job.texts.Name(*why->parent);
  return fmt::format("it waited for task {}{}, which did not succeed", *why->parent + 1,
                     name.empty() ? "" : " (" + name + ")");
}

Result<TaskDetails> DetailsOf(JobAtHand& job, const store::TaskSummary& task) {
  TaskDetails details;
  uint16_t slot = task.last ? task.last->record.end.slot : 0;
  details.task = FactsOf(task);
  auto command = TRY(job.texts.Command(task.index, slot));
  details.task.command = Bounded(std::move(command));
  details.task.name = job.texts.Name(task.index);
  auto attempts = TRY(job.history.Attempts(task.index));
  size_t notes = 0;
  for (const store::AttemptEntry& attempt : attempts) {
    AttemptFacts& facts = details.attempts.emplace_back(AttemptFactsOf(attempt));
    if (job.source.on_hub()) {
      if (auto name = job.source.history->index().NodeName(attempt.record.node))
        facts.node = std::move(*name);
    }
    notes += facts.end.note.size();
    if (notes > kMostNotes) facts.end.note.clear();
  }
  AddFiles(job, details, slot);
  AddLine(job, details);
  if (const TaskClass* of_task = job.log.ClassOf(task.index)) {
    details.asks = *of_task;
    const auto& stories = job.log.replay->words().stories;
    if (auto story = stories.find(task.index); story != stories.end()) {
      details.story = story->second;
    }
  }
  details.why_cancelled = WhyCancelled(job, task.index);
  auto live = std::ranges::find(job.live, task.index, &LiveTask::index);
  if (task.state == TaskState::kLeased && live != job.live.end()) details.live = *live;
  const JobSettings& settings = job.texts.settings();
  details.cwd = settings.cwd;
  details.min_free_memory = settings.min_free_memory;
  details.max_load = settings.max_load;
  details.job = job.facts;
  details.retry = job.log.policy.retry;
  details.held = job.log.held;
  return details;
}

Status DescribeTasksOf(const Asking& call, const PickedTasks& picked) {
  auto history = TRY(call.source.Open(picked.job));
  auto log = TRY(ReadLog(*history));
  auto facts = TRY(FactsOf(call.source, history->summary(), true));
  // Places of tasks depend on --follow-until.
  auto follows = [](std::string_view word) { return word.starts_with("--follow-until"); };
  if (facts.argv && std::ranges::none_of(*facts.argv, follows)) facts.argv.reset();
  if (auto counts = history->Counts()) facts.counts = *counts;
  JobAtHand job{call.source,    *history,         TaskTexts(call.source, *history),
                std::move(log), std::move(facts), LiveTasksOf(call.source, history->summary())};
  Status status;
  auto visited = VisitTasks(*history, picked, ~0u, [&](const store::TaskSummary& task) {
    auto details = DetailsOf(job, task);
    status = details ? call.Put(*details) : std::unexpected(details.error());
    return status.has_value();
  });
  return visited ? status : visited;
}

}  // namespace

Status Answer(const Asking& call, const wire::ListTasks& asked) {
  auto picked = TRY(PickTasks(call.source, asked.tasks));
  TaskLister lister(call, asked);
  for (const PickedTasks& tasks : picked) {
    if (lister.full()) break;
    TRY(lister.Tell(tasks));
  }
  return {};
}

Status Answer(const Asking& call, const wire::DescribeTasks& asked) {
  auto picked = TRY(PickTasks(call.source, asked.tasks));
  for (const PickedTasks& tasks : picked) {
    TRY(DescribeTasksOf(call, tasks));
  }
  return {};
}

Status Answer(const Asking& call, const wire::FindTasks& asked) {
  auto picked = TRY(PickTasks(call.source, {{{}, asked.tasks}}));
  wire::TasksFound found;
  for (PickedTasks& tasks : picked) {
    found.tasks.push_back({tasks.job, tasks.all, std::move(tasks.ranges), {}});
  }
  return call.Put(found);
}

}  // namespace spate::history
