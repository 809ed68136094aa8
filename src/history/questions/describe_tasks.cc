// All about a task.
#include <fmt/format.h>

#include <algorithm>

#include "format/list_line.h"
#include "history/job_facts.h"
#include "history/log_facts.h"
#include "history/pick.h"
#include "history/question.h"
#include "history/task_summary.h"
#include "history/task_texts.h"

namespace spate::history {
namespace {

// Limit for the notes of one task, whatever its nodes made up.
constexpr size_t kMostNotes = 4 << 20;

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
  details.task = TaskFactsOf(task);
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
  if (job.log.replay) {
    const engine::JobState& replayed = job.log.replay->job();
    if (task.index < replayed.task_count()) {
      details.time_limit = replayed.TimeLimitOf(task.index);
      if (const auto* change = replayed.ResizeOf(task.index)) details.resize = change->fact;
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
    status = details ? call.SendAnswer(*details) : std::unexpected(details.error());
    return status.has_value();
  });
  return visited ? status : visited;
}

Status Answer(const Asking& call, const wire::DescribeTasks& asked) {
  auto picked = TRY(PickTasks(call.source, asked.tasks));
  for (const PickedTasks& tasks : picked) {
    TRY(DescribeTasksOf(call, tasks));
  }
  return {};
}

}  // namespace

extern const JournalQuestion kDescribeTasks =
    QuestionOf<wire::DescribeTasks, Answer>({.who = kOwner});

}  // namespace spate::history
