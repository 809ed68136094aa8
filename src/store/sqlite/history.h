// History: one job's journal for reading, while it runs or long afterwards, in this process or
// another. Nothing is written.
//
// Thread: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/attempt_entry.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/job_replay.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/output_file.h"
#include "store/sqlite/row_reader.h"

namespace spate::store {

struct TaskSummary {
  TaskIndex index = 0;
  TaskState state = TaskState::kQueued;
  uint32_t attempts = 0;  // that have ended
  uint32_t tries = 0;     // of them, those that count since the task was last reopened
  std::optional<AttemptEntry> last;
  bool has_parts = false;  // an attempt of it has several rows, as a gang's on several nodes
  bool left_list = false;  // the job's counts leave it out
};

struct TaskFilter {
  uint32_t states = ~0u;  // bit s: tasks of TaskState s
  TaskIndex first = 0;
  uint64_t count = UINT64_MAX;  // of indices looked at, from `first`
  bool left_list = true;        // also those that have left their list
  static constexpr uint32_t Bit(TaskState state) { return 1u << static_cast<int>(state); }
};

class History {
 public:
  // kNotFound: no such job. kCorrupt: damaged or newer.
  static Result<History> Open(const JobPlace& place, uint32_t number);

  const JobSummary& summary() const { return summary_; }
  // The engine's state from the journal, at the moment of the first call of this, or of one of
  // those below that say so; Refresh makes the next call look again. kCorrupt: see ReplayJob.
  Result<std::shared_ptr<const JobReplay>> Replayed();
  void Refresh() { replay_.reset(); }
  // By Replayed, but that in a job that nobody runs leased tasks are counted and shown as queued:
  // they will be run again.
  Result<JobCounts> Counts();
  // By Replayed.
  Result<JobStatistics> Statistics();
  // Of all attempts that were started; without the cost of Statistics.
  Result<Duration> MeanWall();
  // As it was changed last; without the cost of Replayed.
  Result<JobPolicy> Policy() { return ReplayPolicy(db_, part_); }

  // Tasks by index, until `visit` returns false; by Replayed, as Task.
  Status Tasks(const TaskFilter& filter, const std::function<bool(const TaskSummary&)>& visit);
  // kNotFound: the job has no such task.
  Result<TaskSummary> Task(TaskIndex index);
  // The attempts of a task that have ended, in order; of a gang each part.
  Result<std::vector<AttemptEntry>> Attempts(TaskIndex index);
  // All attempts that have ended, with their places in the journal, the newest first, until `visit`
  // returns false. Cheap for the first ones.
  Status NewestAttempts(const std::function<bool(uint64_t seq, const AttemptEntry&)>& visit);
  // A task's row (core/model/job.h).
  Result<std::string> RowText(TaskIndex index);

  // The rare records of the journal, all but the ends of attempts, in order: what the job was
  // accepted with, leases, holds, changes of policy. Of a hub also those that belong to no job.
  Status Log(const std::function<void(const engine::Record&)>& visit);

  // Of a hub; empty when it knows no such node.
  Result<std::string> NodeName(NodeId node);

  // Kept output in pieces, see OutputReader.
  using OutputExtent = OutputReader::Extent;
  Result<OutputExtent> ReadOutput(const AttemptEntry& attempt, Stream stream,
                                  const OutputReader::Visitor& visit,
                                  OutputReader::Part part = {}) {
    return output_.Read(attempt, stream, visit, part);
  }

 private:
  History(JobSummary summary, Database db, bool frozen)
      : summary_(std::move(summary)),
        db_(std::move(db)),
        part_(PartOf(summary_.row)),
        rows_(db_.path(), frozen),
        output_(summary_.place.OutputPath(summary_.row.job)) {}
  // As people see it; after Replayed.
  TaskState StateOf(TaskIndex index) const;
  Result<TaskSummary> SummaryOf(TaskIndex index);
  Result<AttemptEntry> ReadAttempt(uint64_t seq);

  JobSummary summary_;
  Database db_;
  JournalPart part_;
  int64_t base_us_ = 0;
  Statement attempt_, rare_;
  RowReader rows_;
  OutputReader output_;
  std::shared_ptr<const JobReplay> replay_;
};

}  // namespace spate::store
