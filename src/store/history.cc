#include "store/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <type_traits>
#include <utility>

#include "base/advice.h"
#include "core/model/ranges.h"

namespace spate::store {

bool IsAtWork(const JobSummary& summary) {
  return summary.of_hub || summary.standing == JobStanding::kRunning;
}

// ---- One job -----------------------------------------------------------------------------------

Result<std::shared_ptr<const JobReplay>> JobJournal::Replayed() {
  if (replay_) return replay_;
  replay_ = TRY(Replay(false));
  return replay_;
}

template <typename Read>
auto JobJournal::ByReplay(Read read)
    -> Result<typename std::invoke_result_t<Read>::value_type::value_type> {
  for (bool from_start : {false, true}) {
    if (from_start) replay_ = TRY(Replay(true));
    auto found = read();
    // An end that the journal does not have may be a mistake of the file.
    const bool is_files = !from_start && !found && found.error().kind == ErrorKind::kCorrupt;
    if (!found && !is_files) return std::unexpected(std::move(found.error()));
    if (found && *found) return std::move(**found);
  }
  return Fail(ErrorKind::kCorrupt,
              fmt::format("the ends of job {} are not as its journal counts them", summary_.number),
              Remedy(" (see: {})", Advice("state check")));
}

Result<std::optional<AttemptEntry>> JobJournal::ReadEnd(uint64_t seq, TaskIndex index) {
  auto entry = TRY(ReadAttempt(seq));
  const AttemptRef& ref = entry.record.end.ref;
  if (ref.job != summary_.row.job || ref.index != index) return std::nullopt;
  return entry;
}

Result<JobCounts> JobJournal::Counts() {
  auto replay = TRY(Replayed());
  JobCounts counts = replay->job().counts();
  if (!IsAtWork(summary_)) counts.queued += std::exchange(counts.leased, 0);
  if (running_) {
    uint64_t running = 0;
    for (const TaskRange& range : *running_) running += range.count;
    const auto leased = static_cast<uint32_t>(std::min<uint64_t>(counts.leased, running));
    counts.queued += std::exchange(counts.leased, leased) - leased;
  }
  return counts;
}

TaskState JobJournal::StateOf(TaskIndex index) const {
  TaskState state = replay_->job().StateOf(index);
  const bool waits = !IsAtWork(summary_) || (running_ && !SortedContains(*running_, index));
  return state == TaskState::kLeased && waits ? TaskState::kQueued : state;
}

Result<JobStatistics> JobJournal::Statistics() {
  auto replay = TRY(Replayed());
  return replay->sums().Statistics(replay->job().counts().succeeded);
}

Result<JobPace> JobJournal::Pace() {
  auto replay = TRY(Replayed());
  return JobPace{replay->job().policy(), replay->sums().MeanWall()};
}

Result<TaskSummary> JobJournal::SummaryOf(TaskIndex index) {
  return ByReplay([&]() -> Result<std::optional<TaskSummary>> {
    const TaskEnds* ends = replay_->EndsOf(index);
    if (ends == nullptr) return std::nullopt;
    TaskSummary summary = {.index = index,
                           .state = StateOf(index),
                           .attempts = ends->attempts,
                           .tries = ends->tries,
                           .last = std::nullopt,
                           .has_parts = ends->has_parts,
                           .left_list = replay_->job().LeftList(index)};
    summary.is_next = IsAtWork(summary_) && summary.state != replay_->job().StateOf(index);
    if (ends->last_seq == 0) return summary;
    summary.last = TRY(ReadEnd(ends->last_seq, index));
    if (!summary.last) return std::nullopt;
    return summary;
  });
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
  auto replay = TRY(Replayed());
  if (index >= replay->job().task_count()) return {};
  return ByReplay([&]() -> Result<std::optional<std::vector<AttemptEntry>>> {
    std::vector<AttemptEntry> attempts;
    const TaskEnds* ends = replay_->EndsOf(index);
    if (ends == nullptr) return std::nullopt;
    for (uint64_t seq = ends->last_seq; seq != 0;) {
      auto attempt = TRY(ReadEnd(seq, index));
      auto before = replay_->EndBefore(seq);
      if (!attempt || !before || *before >= seq) return std::nullopt;
      attempts.push_back(std::move(*attempt));
      seq = *before;
    }
    std::ranges::reverse(attempts);
    return attempts;
  });
}

Status JobJournal::NewestOutputs(const AttemptVisit& visit) {
  auto replay = TRY(Replayed());
  bool more = true;
  for (uint64_t block : std::views::reverse(replay->output_blocks())) {
    const uint64_t first = block * JobReplay::kSeqBlock;
    // Ends behind the replay are of another moment.
    const uint64_t last = std::min(first + JobReplay::kSeqBlock - 1, replay->position());
    TRY(AttemptsBetween(first, last, [&](uint64_t seq, const AttemptEntry& attempt) {
      return more = attempt.kept.bytes() == 0 || visit(seq, attempt);
    }));
    if (!more) break;
  }
  return {};
}

Result<std::vector<TaskRange>> JobJournal::MarkedTasks(const RowTest& is_marked) {
  TRY(Replayed());
  MarkedRows& marked = replay_->marked_rows();
  const uint32_t tasks = replay_->job().task_count();
  const uint32_t read_before = marked.read;
  while (marked.read < tasks) {
    const uint32_t block = marked.read / MarkedRows::kBlock;
    const bool is_known = !marked.blocks.empty() && marked.blocks.back() == block;
    auto row = is_known ? Result<std::string>("") : RowText(marked.read);
    if (!is_known && (!row || is_marked(marked.read, *row))) marked.blocks.push_back(block);
    ++marked.read;
  }
  if (marked.read > read_before) KeepMarks(*replay_, marked.read - read_before);
  std::vector<TaskRange> ranges;
  for (uint32_t block : marked.blocks) {
    const TaskIndex first = block * MarkedRows::kBlock;
    ranges.push_back({first, std::min(MarkedRows::kBlock, tasks - first)});
  }
  return ranges;
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
