// The demand feed: which tasks could start now if a node had room, by class, for those who ask
// batch systems for nodes. Kept only while somebody watches. Gone with the process.
//
// Changes only mark what they touch; Drain looks at what is marked. Its cost is that of the classes
// that were touched since, with three exceptions: a job whose runnability or room changed costs its
// classes, a user with a bound the distinct needs of his waiting tasks, and a user's new bound
// both.
//
// The rest of a user's bound is reported once for each distinct needs of that user: for classes in
// order of their keys, until they have as many tasks. The provisioner need not distinguish classes
// of one user with the same needs; tasks whose needs no node will meet take nothing from others.
// So the sum of a user's demand may exceed the user's bound, once for each kind of node needed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/engine/durable.h"
#include "core/engine/place/board.h"
#include "core/model/class_demand.h"

namespace spate::engine {

// Divides the rest of a bound among classes in order of their keys. The first get their whole want,
// at most one a part, and the others nothing.
class Allotment {
 public:
  using Changed = std::vector<ClassKey>;

  Allotment() = default;
  Allotment(const Allotment&) = delete;
  Allotment& operator=(const Allotment&) = delete;

  void SetWant(const ClassKey& key, uint32_t tasks);
  // Adds the classes whose part may be another one from now on.
  void SetRoom(uint64_t room, Changed& changed);
  uint32_t PartOf(const ClassKey& key) const;
  bool empty() const { return wants_.empty(); }

 private:
  using Wants = std::map<ClassKey, uint32_t>;  // none that is 0
  // Before `edge_`, which is told in part.
  bool IsWhole(const ClassKey& key) const { return edge_ == wants_.end() || key < edge_->first; }

  Wants wants_;
  Wants::iterator edge_ = wants_.end();
  uint64_t before_ = 0;  // the sum of what stands before it
  uint64_t room_ = 0;
};

class DemandFeed {
 public:
  DemandFeed(const Durable& durable, const place::Board& board);

  // `record` is applied, and the board knows of it.
  void Follow(const Record& record, const Changes& changes);
  // The job is about to leave memory.
  void Unload(JobId job);
  // Has the contract of Engine::DrainDemand.
  std::vector<ClassDemand> Drain(Instant now);

 private:
  struct Class {
    uint32_t running = 0;
    Duration takes;
    bool touched = false;
    // Last reported values; nothing of a class that has nothing ready.
    uint32_t told_ready = 0;
    uint32_t told_running = 0;
    Duration told_takes;
    Instant due = Instant::Never();  // in dues_
  };
  // Bounds for all classes of a job.
  struct Gate {
    uint32_t room = 0;  // tasks of the job that may start; 0 where none may
    bool counts_delayed = true;
    friend bool operator==(const Gate&, const Gate&) = default;
  };
  struct User {
    std::map<place::GroupKey, Allotment> kinds;  // by needs; none that is empty
    uint64_t room = UINT64_MAX;
    std::string group;  // as last recorded
    bool touched = false;
    std::set<place::GroupKey> stirred;  // kinds whose wants changed
  };
  struct Job {
    User* user = nullptr;
    std::vector<Class> classes;
    Gate gate;
    bool touched = false;
  };

  Job& JobOf(const JobState& job);
  void Touch(const JobState& job);
  void Touch(const JobState& job, uint32_t request);
  void TouchUser(const std::string& name, User& user);
  void TouchGroups();
  void Learn(const AttemptEnded& ended);
  Gate GateOf(const JobState& job) const;
  void LookAtJob(JobId id);
  void LookAtClass(const ClassKey& key, Instant now);
  void LookAtUser(const std::string& name, Allotment::Changed& changed);
  void SetDue(const ClassKey& key, Class& known, Instant due);
  void AppendChanged(const ClassKey& key, std::vector<ClassDemand>& told);

  const Durable& durable_;
  const place::Board& board_;
  std::unordered_map<JobId, Job> jobs_;  // looked up, never walked to decide
  std::unordered_map<std::string, User> users_;
  std::set<std::pair<Instant, ClassKey>> dues_;  // when more of a class may start
  std::vector<ClassKey> touched_;
  std::vector<JobId> touched_jobs_;
  std::vector<std::string> touched_users_;
  std::set<std::string> touched_groups_;
  std::vector<ClassDemand> gone_;  // of jobs that left memory
};

}  // namespace spate::engine
