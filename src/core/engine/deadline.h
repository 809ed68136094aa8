// Classes of tasks that have a deadline, by the time at which something is to be done about it.
// Live: a replay tells of the classes, and what is due is found again.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "core/engine/job_state.h"

namespace spate::engine {

class Deadlines {
 public:
  struct Key {
    JobId job;
    uint32_t request = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  enum class What : uint8_t {
    kStart,  // what has not started by now cannot end by the deadline
    kEnd,    // it is the deadline
  };
  struct Due {
    Instant at;  // it is due as soon as this has passed
    What what = What::kStart;
    Key key;
    friend auto operator<=>(const Due&, const Due&) = default;
  };

  // Classes of the job from number `first` on are new.
  void Add(const JobState& job, uint32_t first);
  // Something may have been put into the queue of a class.
  void Stir(const JobState& job, uint32_t request) {
    if (!late_.empty() && job.requests()[request].deadline && late_.contains({job.id(), request}))
      stirred_.insert({job.id(), request});
  }
  void Drop(const JobState& job);
  // A late class is late no more, since the wall clock was set back.
  void Revive(const JobState& job, uint32_t request);

  // The first that is due at this time of the wall clock, once; kStart of a class comes before its
  // kEnd.
  std::optional<Due> PopDue(Instant wall);
  // Late classes in whose queues something may stand again.
  std::set<Key> DrainStirred() { return std::exchange(stirred_, {}); }
  // When the next one is due, by the wall clock.
  Instant Next() const;

 private:
  std::set<Due> due_;
  std::set<Key> late_;  // whose kStart was taken
  std::set<Key> stirred_;
};

// The last moment at which a task of the class may start.
Instant LatestStart(const TaskClass& of_tasks);

}  // namespace spate::engine
