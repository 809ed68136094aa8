// A job's tasks, and who waits for whom among them.
#include <set>

#include "history/live_tasks.h"
#include "history/log_facts.h"
#include "history/pick.h"
#include "history/question.h"
#include "history/task_texts.h"

namespace spate::history {
namespace {

// One answer is a message: its tasks, the bytes of their names, its edges.
constexpr size_t kTasksAtOnce = 16'384;
constexpr size_t kNamesAtOnce = 1 << 20;
constexpr size_t kEdgesAtOnce = 65'536;

class GraphTeller {
 public:
  GraphTeller(const Asking& call, store::JobJournal& history)
      : call_(call), history_(history), texts_(call.source, history) {
    answer_.job = JobId(history.summary().number);
    answer_.name = store::NameOf(history.summary().row);
  }

  Status Tell() {
    auto log = TRY(ReadLog(history_));
    FindRunning();
    Status status;
    auto visited = history_.Tasks({}, [&](const store::TaskSummary& task) {
      Add(task, log.NeedsOf(task.index));
      bool full = answer_.names.size() == kTasksAtOnce || names_bytes_ > kNamesAtOnce;
      if (full) status = Flush();
      return status.has_value();
    });
    if (!visited) return visited;
    if (status) status = TellEdges(log.replay->job());
    // At least one answer.
    return status ? Flush() : status;
  }

 private:
  // On this machine by its processes; on a hub by their states (JobLive).
  void FindRunning() {
    const store::JobSummary& job = history_.summary();
    if (!job.owner) return;
    auto live = FindLiveTasks(call_.source.proc, *job.owner, JobId(job.number), call_.source.now());
    for (const LiveTask& task : live) running_.insert(task.index);
  }

  void Add(const store::TaskSummary& task, const Needs* needs) {
    if (answer_.names.empty()) answer_.first = task.index;
    bool leased = task.state == TaskState::kLeased;
    answer_.names.push_back(texts_.Name(task.index));
    answer_.states.push_back(static_cast<uint32_t>(task.state));
    answer_.running.push_back(leased && (running_.empty() || running_.contains(task.index)));
    answer_.walls.push_back(task.last ? task.last->record.end.wall : Duration{});
    answer_.planned.push_back(needs == nullptr ? Duration{} : needs->time);
    if (task.left_list) answer_.withdrawn.push_back(task.index);
    names_bytes_ += answer_.names.back().size();
  }

  Status TellEdges(const engine::JobState& job) {
    Status status = Flush();
    for (TaskIndex i = 0; i < job.task_count() && status; ++i) {
      job.graph().ForChildren(i, [&](TaskIndex child) {
        answer_.parents.push_back(i);
        answer_.children.push_back(child);
        if (answer_.parents.size() == kEdgesAtOnce && status) status = Flush();
      });
    }
    return status;
  }

  Status Flush() {
    auto put = call_.SendAnswer(answer_);
    answer_ = {.job = answer_.job, .name = std::move(answer_.name)};
    names_bytes_ = 0;
    return put;
  }

  const Asking& call_;
  store::JobJournal& history_;
  TaskTexts texts_;
  std::set<TaskIndex> running_;
  GraphFacts answer_;
  size_t names_bytes_ = 0;
};

Status Answer(const Asking& call, const wire::LookAtGraph& asked) {
  auto numbers = TRY(PickJobs(call.source, asked.jobs));
  if (numbers.size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in",
                Remedy(": {}", Advice("job graph", 12)));
  }
  auto history = TRY(call.source.Open(numbers.front()));
  return GraphTeller(call, *history).Tell();
}

}  // namespace

extern const JournalQuestion kLookAtGraph = QuestionOf<wire::LookAtGraph, Answer>({.who = kOwner});

}  // namespace spate::history
