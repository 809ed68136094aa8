// Lists of tasks.
#include <set>

#include "history/pick.h"
#include "history/question.h"
#include "history/task_summary.h"
#include "history/task_texts.h"

namespace spate::history {
namespace {

// One answer is a message: its tasks, and the bytes of their texts.
constexpr size_t kTaskRows = 256;
constexpr size_t kTaskTexts = 1 << 20;
constexpr size_t kStderrEnd = 16 << 10;

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
  TaskFacts facts = TaskFactsOf(task);
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
      status = call_.SendAnswer(answer);
      answer.tasks.clear();
      texts_bytes = 0;
    }
    return --left_ > 0 && status;
  });
  // Tasks found before an error are reported all the same.
  if (auto put = call_.SendAnswer(answer); status) status = put;
  return visited ? status : visited;
}

Status Answer(const Asking& call, const wire::ListTasks& asked) {
  auto picked = TRY(PickTasks(call.source, asked.tasks));
  TaskLister lister(call, asked);
  for (const PickedTasks& tasks : picked) {
    if (lister.full()) break;
    TRY(lister.Tell(tasks));
  }
  return {};
}

}  // namespace

extern const JournalQuestion kListTasks = QuestionOf<wire::ListTasks, Answer>({.who = kOwner});

}  // namespace spate::history
