// JobReplay: one job of a journal, replayed into the engine's state, and queried by people.
// Facts that they ask for beyond that, and the engine does not use, are kept from the same pass.
//
// It can be kept in a file (store/replay_file.h). What tasks have many of is then read from there
// when it is wanted, so a file may turn out to be damaged later.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/engine/durable.h"
#include "core/engine/job_words.h"
#include "core/model/image.h"
#include "store/attempt_sums.h"
#include "store/block_table.h"

namespace spate::store {

// The attempts of a task that have ended.
struct TaskEnds {
  uint64_t last_seq = 0;   // of the newest; 0: none
  uint16_t attempts = 0;   // 65535 stands for more; parts of a gang are one together
  uint16_t tries = 0;      // of them, those that count since the task was last reopened
  bool has_parts = false;  // some of them are of several rows
};
void EncodeBlock(std::span<const TaskEnds> entries, std::string& to);
bool DecodeBlock(std::string_view from, std::span<TaskEnds> entries);

// An end that is not the first one of its task, and the one before it.
struct EarlierEnd {
  uint64_t seq = 0;
  uint64_t before = 0;
};
void EncodeBlock(std::span<const EarlierEnd> entries, std::string& to);
bool DecodeBlock(std::string_view from, std::span<EarlierEnd> entries);

// Blocks of a job's tasks whose rows say what questions look for (JobJournal::MarkedTasks).
struct MarkedRows {
  static constexpr uint32_t kBlock = 4096;  // tasks
  uint32_t read = 0;                        // the first so many tasks were looked at
  std::vector<uint32_t> blocks;             // ascending
};

class JobReplay {
 public:
  explicit JobReplay(JobId job) : job_(job) {}
  JobReplay(const JobReplay&) = delete;
  JobReplay& operator=(const JobReplay&) = delete;

  // One without tasks, before it is accepted.
  const engine::JobState& job() const;
  const engine::JobWords& words() const { return words_; }
  // nullptr: the file is damaged.
  const TaskEnds* EndsOf(TaskIndex index) const { return ends_.Find(index); }
  // The end of the same task that was before this one; 0: there was none. nullopt: the file is
  // damaged.
  std::optional<uint64_t> EndBefore(uint64_t seq) const;
  const AttemptSums& sums() const { return sums_; }
  // Blocks of kSeqBlock numbers in which ends of the job kept output, ascending.
  static constexpr uint64_t kSeqBlock = 4096;
  const std::vector<uint64_t>& output_blocks() const { return output_blocks_; }
  // No record changes them.
  MarkedRows& marked_rows() { return marked_rows_; }
  // Number of the newest record; 0: none.
  uint64_t position() const { return position_; }
  // Numbers of the newest records, at most kRecent, ascending; without those that a journal drops
  // when another one comes (UseCounted).
  static constexpr size_t kRecent = 16;
  const std::vector<uint64_t>& recent() const { return recent_; }
  // Records that were applied since it was opened from a file, or made.
  uint64_t applied() const { return applied_; }
  uint64_t Digest() const { return state_.Digest(); }

  // The next record of the job, or of none. False: it does not follow from those before it, and
  // the state is as it was; or the file is damaged.
  bool Apply(uint64_t seq, const engine::Record& record);
  // Adds the numbers of the end that was applied last.
  void Add(const AttemptNumbers& numbers);

  // All of it as bytes, but the blocks, which go by `put`.
  Result<std::string> Save(const PutBlock& put) const;
  // Fills a new object. False: the bytes do not fit, and it is of no further use.
  bool Open(std::string_view image, std::shared_ptr<const BlockSource> blocks);

 private:
  bool IsOfJob(const engine::Record& record) const;
  bool AddEnd(uint64_t seq, const engine::AttemptEnded& ended);
  bool ForgetTries(const std::vector<TaskRange>& tasks);

  const JobId job_;
  engine::Durable state_;
  engine::Changes changes_;
  engine::JobWords words_;
  BlockTable<TaskEnds> ends_;
  BlockTable<EarlierEnd> earlier_;  // ascending
  AttemptSums sums_;
  std::vector<uint64_t> output_blocks_;
  MarkedRows marked_rows_;
  uint64_t position_ = 0;
  std::vector<uint64_t> recent_;
  uint64_t applied_ = 0;
};

}  // namespace spate::store
