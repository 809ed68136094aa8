// JobReplay: one job of a journal, replayed into the engine's state, and queried by people.
// Facts that they ask for beyond that, and the engine does not use, are kept from the same pass.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/engine/durable.h"
#include "core/engine/record.h"
#include "core/model/job_facts.h"
#include "store/attempt_sums.h"

namespace spate::store {

// Words and times from the rare records.
struct JobWords {
  Instant held_at;                          // of the newest hold; 0: not known
  std::map<NodeId, std::string> why_aside;  // why a node was set aside for the job, the last time
  // Tasks cancelled by somebody, or by a job that they waited for; the newest last. Tasks that only
  // left their list are not included.
  struct Cancelled {
    std::vector<TaskRange> tasks;          // empty: the job
    std::string reason;                    // in words; empty: a person wished it
    std::optional<TaskIndex> parent = {};  // it was that task's end
  };
  std::vector<Cancelled> cancelled;
  // Of gangs that were the first of those that wait, by task.
  std::map<TaskIndex, GangStory> stories;
  std::optional<TaskIndex> newest_story;
  std::set<TaskIndex> story_ended;  // gangs that were leased since: another try begins another one
};

// The attempts of a task that have ended.
struct TaskEnds {
  uint64_t last_seq = 0;   // of the newest; 0: none
  uint16_t attempts = 0;   // 65535 stands for more; parts of a gang are one together
  uint16_t tries = 0;      // of them, those that count since the task was last reopened
  bool has_parts = false;  // some of them are of several rows
};

class JobReplay {
 public:
  explicit JobReplay(JobId job) : job_(job) {}
  JobReplay(const JobReplay&) = delete;
  JobReplay& operator=(const JobReplay&) = delete;

  // One without tasks, before it is accepted.
  const engine::JobState& job() const;
  const JobWords& words() const { return words_; }
  const TaskEnds& EndsOf(TaskIndex index) const { return ends_[index]; }
  const AttemptSums& sums() const { return sums_; }

  // The next record of the job, or of none. False: it does not follow from those before it, and
  // nothing was done.
  bool Apply(uint64_t seq, const engine::Record& record);
  // Adds to the sums.
  void Add(const AttemptNumbers& numbers) { sums_.Add(numbers); }

 private:
  bool IsOfJob(const engine::Record& record) const;

  const JobId job_;
  engine::Durable state_;
  engine::Changes changes_;
  JobWords words_;
  std::vector<TaskEnds> ends_;
  AttemptSums sums_;
};

}  // namespace spate::store
