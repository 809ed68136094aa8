// Reading of jobs from a store: those of a hub, or the runs in a state folder, each job's journal,
// and the ends of attempts as they come. The answers to people's questions stand on these
// interfaces, so that they do not depend on how a store keeps its records.
//
// Nothing of what they read is written. Other processes may write meanwhile. Errors that every
// function may have: kCorrupt (damaged), kNewer (written by a newer version), kExhausted (no
// descriptors left).
//
// Thread: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/model/job_facts.h"
#include "store/attempt_entry.h"
#include "store/job_replay.h"
#include "store/job_row.h"
#include "store/kept_output.h"

namespace spate::store {

using spate::JobStanding;

// The place of jobs: the state folder of a user's runs, or the folder of a hub.
struct JobPlace {
  JobPlace(std::string state_dir) : dir(std::move(state_dir)) {}  // NOLINT: of runs, the usual case
  static JobPlace Hub(std::string hub_dir) {
    JobPlace place(std::move(hub_dir));
    place.is_hub = true;
    return place;
  }

  std::string dir;
  bool is_hub = false;
  // A reader that replays as many records of a job keeps its state in a file (store/replay_file.h),
  // in a folder that this user may write. UINT64_MAX: never.
  uint64_t keep_replay_after = 100'000;
};

struct JobSummary {
  uint32_t number = 0;
  bool of_hub = false;
  std::string folder;  // a run's own; empty: it is a hub's
  JobStanding standing = JobStanding::kDamaged;
  std::optional<int64_t> owner;  // the process of this machine that runs it; of a hub's job: none
  // The row that its owner last wrote, but the counts of a running or interrupted run are from its
  // journal. When damaged: what can be read of it (JobRow::damage), or only `job`.
  JobRow row;
  std::string problem;  // when damaged
};

// True if leased tasks may be running: its owner is there, or it is a hub's.
bool IsAtWork(const JobSummary& summary);

// ---- One job -----------------------------------------------------------------------------------

struct TaskSummary {
  TaskIndex index = 0;
  TaskState state = TaskState::kQueued;
  uint32_t attempts = 0;  // that have ended
  uint32_t tries = 0;     // of them, those that count since the task was last reopened
  std::optional<AttemptEntry> last;
  bool has_parts = false;  // an attempt of it has several rows, as a gang's on several nodes
  bool left_list = false;  // the job's counts leave it out
  bool is_next = false;    // a node has it, and has not started it: it counts as queued
};

struct TaskFilter {
  uint32_t states = ~0u;  // bit s: tasks of TaskState s
  TaskIndex first = 0;
  uint64_t count = UINT64_MAX;  // of indices looked at, from `first`
  bool left_list = true;        // also those that have left their list
  static constexpr uint32_t Bit(TaskState state) { return 1u << static_cast<int>(state); }
};

// How a job goes on.
struct JobPace {
  JobPolicy policy;    // as it was changed last
  Duration mean_wall;  // of all attempts that were started
};

// One job's journal, while it runs or long afterwards.
class JobJournal {
 public:
  explicit JobJournal(JobSummary summary) : summary_(std::move(summary)) {}
  virtual ~JobJournal() = default;

  const JobSummary& summary() const { return summary_; }
  // The engine's state from the journal, at the moment of the first call of this, or of one of
  // those below that say so; Refresh makes the next call look again.
  Result<std::shared_ptr<const JobReplay>> Replayed();
  void Refresh() { replay_.reset(); }
  // All tasks that run, sorted: other leased ones are shown as queued.
  void SetRunning(std::vector<TaskRange> tasks) { running_ = std::move(tasks); }
  // By Replayed, but that in a job that nobody runs leased tasks are counted and shown as queued:
  // they will be run again.
  Result<JobCounts> Counts();
  // By Replayed.
  Result<JobStatistics> Statistics();
  // Tasks by index, until `visit` returns false; by Replayed, as Task.
  Status Tasks(const TaskFilter& filter, const std::function<bool(const TaskSummary&)>& visit);
  // kNotFound: the job has no such task.
  Result<TaskSummary> Task(TaskIndex index);
  // The attempts of a task that have ended, in order; of a gang each part. By Replayed.
  Result<std::vector<AttemptEntry>> Attempts(TaskIndex index);

  // By Replayed.
  Result<JobPace> Pace();
  // Attempts that have ended and kept output, with their places in the journal, the newest first,
  // until `visit` returns false. Cheap for the first ones. By Replayed.
  using AttemptVisit = std::function<bool(uint64_t seq, const AttemptEntry&)>;
  Status NewestOutputs(const AttemptVisit& visit);
  // Ranges, ascending, of at most MarkedRows::kBlock tasks, of which at least one each is marked or
  // has a row that cannot be read; no other tasks are. What `is_marked` says of a row must be the
  // same in all questions: rows that were read once are not read again. By Replayed.
  using RowTest = std::function<bool(TaskIndex index, std::string_view row)>;
  Result<std::vector<TaskRange>> MarkedTasks(const RowTest& is_marked);

  // Attempts whose ends have these places in the journal, the newest first, until `visit` returns
  // false.
  virtual Status AttemptsBetween(uint64_t first, uint64_t last, const AttemptVisit& visit) = 0;
  // A task's row (core/model/job.h).
  virtual Result<std::string> RowText(TaskIndex index) = 0;
  virtual Result<OutputExtent> ReadOutputPart(const AttemptEntry& attempt, Stream stream,
                                              OutputPart part, const OutputVisitor& visit) = 0;
  Result<OutputExtent> ReadOutput(const AttemptEntry& attempt, Stream stream,
                                  const OutputVisitor& visit) {
    return ReadOutputPart(attempt, stream, {}, visit);
  }

 protected:
  JobJournal(JobJournal&&) = default;

 private:
  // All records of the job. `from_start`: without the help of a file.
  virtual Result<std::shared_ptr<JobReplay>> Replay(bool from_start) = 0;
  // Keeps the marks of a replay for later questions if these were many rows.
  virtual void KeepMarks(const JobReplay& replay, uint64_t rows_read) = 0;
  virtual Result<AttemptEntry> ReadAttempt(uint64_t seq) = 0;

  // The state shown to people; after Replayed.
  TaskState StateOf(TaskIndex index) const;
  Result<TaskSummary> SummaryOf(TaskIndex index);
  // Runs `read`, which returns nullopt where the replay's file turns out to be wrong: then again
  // after a replay without one.
  template <typename Read>
  auto ByReplay(Read read) -> Result<typename std::invoke_result_t<Read>::value_type::value_type>;
  // The end, if it is one of this task's; else nullopt.
  Result<std::optional<AttemptEntry>> ReadEnd(uint64_t seq, TaskIndex index);

  JobSummary summary_;
  std::shared_ptr<JobReplay> replay_;
  std::optional<std::vector<TaskRange>> running_;
};

// The ends of one job's attempts, as they become durable. For whoever passes them on to a waiting
// person.
class Tail {
 public:
  virtual ~Tail() = default;

  struct End {
    uint64_t seq = 0;
    AttemptEntry attempt;
  };
  struct News {
    std::vector<End> ends;  // ascending
    uint64_t seq = 0;       // where the next Read goes on
    bool more = false;      // the next Read has something to look at, at once
    bool finished = false;  // these were the last ends (until the job is reopened)
  };
  // The ends with a number of the sequence above `after` (0: from the beginning), at most `most`.
  // A call looks at a bounded part of the journal. kNotFound: the job was removed meanwhile.
  virtual Result<News> Read(uint64_t after, size_t most) = 0;
  virtual Result<OutputExtent> ReadOutput(const AttemptEntry& attempt, Stream stream,
                                          const OutputVisitor& visit) = 0;
};

// ---- Many jobs ---------------------------------------------------------------------------------

// Resources that jobs have used, from their attempts that have ended.
struct Use {
  uint64_t tasks = 0;        // that came to an end; one that was reopened, each time
  uint64_t failed = 0;       // of them, those that failed or are unknown
  uint64_t ends = 0;         // of attempts
  Duration cpu, wall;        // of all attempts
  uint64_t peak_memory = 0;  // the largest of one attempt
  // Among successful attempts: the longest, and the most thousandths of processors that one used,
  // on average; 0: none ran for kLongEnough.
  Duration longest;
  uint32_t most_milli_cpus = 0;

  void Add(const Use& other);
};

// Processor times of shorter attempts are those of starting them.
inline constexpr Duration kLongEnough = Duration::Seconds(1);

// Tasks that have succeeded, by the wall time of that attempt; of a gang that of its longest part.
struct PairTimes {
  uint64_t tasks = 0;
  Duration median_wall;
};

// How long the tasks of a job of a hub took, by what other jobs ran on their nodes meanwhile. So it
// is seen which jobs are bound by the same thing (`--bound`), and slow each other down.
struct Pairs {
  // Tasks of other jobs were on the node for less than a tenth of the time.
  PairTimes alone;
  // Tasks of other jobs of that kind (BoundBy) were there for at least half of the time. A task may
  // count for several kinds, and for none. Of a gang the node counts where that was longest.
  std::array<PairTimes, 4> beside;
};

// The jobs of a hub that were submitted to start after another one and were cancelled.
struct Dependents {
  std::vector<JobId> first;  // ascending
  uint64_t count = 0;
};

// Lookups that open no job.
class HistoryIndex {
 public:
  virtual ~HistoryIndex() = default;

  // The row of a task of a hub's job, a view until the next call. kNotFound.
  virtual Result<std::string_view> Row(JobId job, TaskIndex index) = 0;
  // Name of a hub's node; empty when it knows no such node.
  virtual Result<std::string> NodeName(NodeId node) = 0;
  // Bytes of a job's files: of a run its folder; of a hub's job, whose records lie among others',
  // its output and the file of its replay. 0 when these cannot be read.
  virtual uint64_t StoredBytes(const JobSummary& job) = 0;
  // By job, those without an end left out, of what ended since then: of one job, or of all of a
  // hub in one pass.
  virtual Result<std::map<uint32_t, Use>> UseSince(Instant since, const JobSummary* job) = 0;
  // Pairs of a hub's job. What has not ended does not count, nor do jobs that were forgotten.
  virtual Result<Pairs> PairsOf(const JobSummary& job) = 0;
  // Those that have ended, with cancelled tasks: `most` of them, and how many there are. Of one
  // user, or of all (empty).
  virtual Result<Dependents> CancelledDependents(JobId on, std::string_view user, size_t most) = 0;
};

// Records in the order in which they became durable.
class HistoryStream {
 public:
  virtual ~HistoryStream() = default;

  // kNotFound: no such job.
  virtual Result<std::unique_ptr<Tail>> Follow(uint32_t number) = 0;
  // The records of a hub behind the number `after` of the sequence, in order, until `visit` returns
  // false or many have been looked at. Those of jobs that were forgotten are missing.
  struct LogPart {
    uint64_t position = 0;  // the last number that was looked at
    uint64_t newest = 0;    // of the sequence
  };
  virtual Result<LogPart> ReadLog(uint64_t after,
                                  const std::function<bool(const JournalEntry&)>& visit) = 0;
};

struct NewestJobs {
  std::vector<uint32_t> numbers;  // ascending
  uint64_t of = 0;                // that there are
};

class History {
 public:
  explicit History(JobPlace place) : place_(std::move(place)) {}
  virtual ~History() = default;

  const JobPlace& place() const { return place_; }

  // A hub's newest `most` jobs, of one user or of all; or all runs, with those that were never
  // accepted.
  virtual Result<NewestJobs> Newest(std::string_view user, size_t most) const = 0;
  // kNotFound: no such job, or one that was never accepted: it ended before its tasks were stored.
  // A run that is just being made is there, without tasks. A damaged job is a summary, not an
  // error.
  virtual Result<JobSummary> Summarize(uint32_t number) const = 0;
  // Those of `numbers` (ascending), the newest first, until `visit` returns false. What was never
  // accepted, or is just being made, is left out. Settings are left out of the row of a hub's job.
  virtual Status Visit(std::span<const uint32_t> numbers,
                       const std::function<bool(const JobSummary&)>& visit) const = 0;
  // kNotFound: no such job.
  virtual Result<std::unique_ptr<JobJournal>> Open(uint32_t number) const = 0;
  // Both live as long as this.
  virtual HistoryIndex& index() const = 0;
  virtual HistoryStream& stream() const = 0;

  // The newest of `numbers` (ascending) that was accepted; nullopt: none was.
  Result<std::optional<uint32_t>> NewestAccepted(std::span<const uint32_t> numbers) const;

 private:
  JobPlace place_;
};

}  // namespace spate::store
