#include "history/task_summary.h"

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

TaskFacts TaskFactsOf(const store::TaskSummary& task) {
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

std::string Bounded(std::string command) {
  constexpr size_t kMostCommand = 4 << 20;
  if (command.size() <= kMostCommand) return command;
  command.resize(kMostCommand);
  return command + "...";
}

std::vector<LiveTask> LiveTasksOf(const Source& source, const store::JobSummary& job) {
  if (!job.owner) return {};
  return FindLiveTasks(source.proc, *job.owner, JobId(job.number), source.now());
}

}  // namespace spate::history
