#include "store/history.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate::store {

bool IsAtWork(const JobSummary& summary) {
  return summary.of_hub || summary.standing == JobStanding::kRunning;
}

// ---- One job -----------------------------------------------------------------------------------

Result<std::shared_ptr<const JobReplay>> JobJournal::Replayed() {
  if (replay_) return replay_;
  auto replay = std::make_shared<JobReplay>(summary_.row.job);
  TRY(Replay(*replay));
  replay_ = std::move(replay);
  return replay_;
}

Result<JobCounts> JobJournal::Counts() {
  auto replay = TRY(Replayed());
  JobCounts counts = replay->job().counts();
  if (!IsAtWork(summary_)) counts.queued += std::exchange(counts.leased, 0);
  return counts;
}

TaskState JobJournal::StateOf(TaskIndex index) const {
  TaskState state = replay_->job().StateOf(index);
  return state == TaskState::kLeased && !IsAtWork(summary_) ? TaskState::kQueued : state;
}

Result<JobStatistics> JobJournal::Statistics() {
  auto replay = TRY(Replayed());
  return replay->sums().Statistics(replay->job().counts().succeeded);
}

Result<TaskSummary> JobJournal::SummaryOf(TaskIndex index) {
  const TaskEnds& ends = replay_->EndsOf(index);
  TaskSummary summary = {.index = index,
                         .state = StateOf(index),
                         .attempts = ends.attempts,
                         .tries = ends.tries,
                         .last = std::nullopt,
                         .has_parts = ends.has_parts,
                         .left_list = replay_->job().LeftList(index)};
  if (ends.last_seq != 0) {
    auto last = TRY(ReadAttempt(ends.last_seq));
    summary.last = std::move(last);
  }
  return summary;
}

Status JobJournal::Tasks(const TaskFilter& filter,
                         const std::function<bool(const TaskSummary&)>& visit) {
  auto replay = TRY(Replayed());
  uint64_t size = replay->job().task_count();
  uint64_t first = std::min<uint64_t>(filter.first, size);
  uint64_t end = first + std::min(filter.count, size - first);
  for (uint64_t i = first; i < end; ++i) {
    auto index = static_cast<TaskIndex>(i);
    if ((filter.states & TaskFilter::Bit(StateOf(index))) == 0) continue;
    if (!filter.left_list && replay->job().LeftList(index)) continue;
    auto summary = TRY(SummaryOf(index));
    if (!visit(summary)) break;
  }
  return {};
}

Result<TaskSummary> JobJournal::Task(TaskIndex index) {
  auto replay = TRY(Replayed());
  const uint32_t size = replay->job().task_count();
  if (index >= size) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("job {} has {} tasks, and none with the number {}", summary_.number,
                            size, uint64_t{index} + 1));
  }
  return SummaryOf(index);
}

Result<std::vector<AttemptEntry>> JobJournal::Attempts(TaskIndex index) {
  std::vector<AttemptEntry> attempts;
  TRY(NewestAttempts(index, [&](uint64_t, const AttemptEntry& attempt) {
    attempts.push_back(attempt);
    return true;
  }));
  std::ranges::reverse(attempts);
  return attempts;
}

// ---- Many jobs ---------------------------------------------------------------------------------

void Use::Add(const Use& other) {
  tasks += other.tasks;
  failed += other.failed;
  ends += other.ends;
  cpu = cpu + other.cpu;
  wall = wall + other.wall;
  peak_memory = std::max(peak_memory, other.peak_memory);
  longest = std::max(longest, other.longest);
  most_milli_cpus = std::max(most_milli_cpus, other.most_milli_cpus);
}

Result<std::optional<uint32_t>> History::NewestAccepted(std::span<const uint32_t> numbers) const {
  for (size_t i = numbers.size(); i > 0; --i) {
    auto summary = Summarize(numbers[i - 1]);
    if (summary) return numbers[i - 1];
    if (summary.error().kind != ErrorKind::kNotFound) return std::unexpected(summary.error());
  }
  return std::nullopt;
}

}  // namespace spate::store
