// JobWords: what people ask of a job and the engine does not use, from its rare records.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/engine/record.h"
#include "core/model/job_facts.h"

namespace spate::engine {

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
  // Stories, by task, of gangs that were the first of those that wait.
  std::map<TaskIndex, GangStory> stories;
  std::optional<TaskIndex> newest_story;
  std::vector<ExcessFacts> excesses;  // the last ones: at most JobDetails::kMostExcesses
  std::set<TaskIndex> story_ended;  // gangs that were leased since: another try begins another one

  // The next record, of `job` or of none.
  void Add(const Record& record, JobId job);
};

}  // namespace spate::engine
