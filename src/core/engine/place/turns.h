// Order: whose turn it is. Users by what they have, of each user jobs by priority and by what they
// have. No state of the engine; EngineState keeps the lines, a pass walks along them.
//
// Jobs that ask for the same stand in one group. Where one of them finds no room at all, none does,
// and the whole group is passed in one go: what waits costs a logarithm when it comes and goes, and
// nothing in between.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/engine/place/ready.h"

namespace spate::engine::place {

// Jobs in the order in which those of one user go: of the highest priority, as users among each
// other (UserTurn).
struct JobTurn {
  int32_t priority = 0;
  uint64_t share = 0;
  uint64_t given = 0;
  JobId job;
  friend bool operator==(const JobTurn&, const JobTurn&) = default;
  friend bool operator<(const JobTurn& a, const JobTurn& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return std::tie(a.share, a.given, a.job) < std::tie(b.share, b.given, b.job);
  }
};

// A group as it comes up: by its first job.
struct Front {
  JobTurn turn;
  GroupKey group = 0;
  friend bool operator<(const Front& a, const Front& b) {
    return std::tie(a.turn, a.group) < std::tie(b.turn, b.group);
  }
};

// The jobs of one user that a pass may serve.
class Line {
 public:
  bool empty() const { return fronts_.empty(); }
  const std::set<Front>& fronts() const { return fronts_; }
  // Groups of fronts() that have not looked at every node since they were formed.
  const std::set<Front>& fresh() const { return fresh_; }
  // The job's group that comes at or after `turn`; nullptr when there is none.
  const JobTurn* From(GroupKey group, const JobTurn& turn) const;
  const JobTurn* After(GroupKey group, const JobTurn& turn) const;

  void Insert(const JobTurn& turn, GroupKey group);
  void Erase(const JobTurn& turn, GroupKey group);
  void Move(const JobTurn& from, const JobTurn& to, GroupKey group);
  // It has looked at every node; or has to do so again.
  void SetLooked(GroupKey group);
  void Refresh(GroupKey group);
  // It fits no node, and stands aside until another one comes.
  void Park(GroupKey group);
  void UnparkAll();
  // Jobs of this priority that stand aside.
  uint32_t Parked(int32_t priority) const {
    auto at = parked_jobs_.find(priority);
    return at == parked_jobs_.end() ? 0 : at->second;
  }

 private:
  friend class Round;
  struct Group {
    std::set<JobTurn> jobs;
    std::map<int32_t, uint32_t> of_priority;  // how many of them
    bool fresh = true;
    bool parked = false;
    uint64_t touched = 0;  // by this round, which goes on with it in `again`
    uint64_t passed = 0;   // by this round: none of its jobs gets more
  };
  // A job whose turn comes after a job of its group had one.
  struct Again {
    Front front;
    bool alone = false;  // the job came from another group: none follows it
    friend bool operator<(const Again& a, const Again& b) { return b.front < a.front; }
  };
  // The position of a round.
  struct Walk {
    uint64_t round = 0;
    std::optional<Front> at;   // the groups up to here were touched
    std::vector<Again> again;  // a heap
  };
  void Show(const Group& group, GroupKey key);
  void Hide(const Group& group, GroupKey key);
  void CountParked(int32_t priority, uint32_t more, uint32_t less);

  std::unordered_map<GroupKey, Group> groups_;
  std::set<GroupKey> parked_;
  std::map<int32_t, uint32_t> parked_jobs_;  // in them, by priority
  std::set<Front> fronts_;                   // of those that are not parked
  std::set<Front> fresh_;
  Walk walk_;
};

// A place in the order in which users, or groups of users, are served: the one with the smallest
// share goes first, and of equal ones the one that was given the least so far. (With fewer places
// than users most have nothing.)
template <typename Of>
struct TurnOf {
  double share = 0;
  uint64_t given = 0;
  const std::string* name = nullptr;
  Of* of = nullptr;
  friend bool operator<(const TurnOf& a, const TurnOf& b) {
    return std::tie(a.share, a.given, *a.name) < std::tie(b.share, b.given, *b.name);
  }
};

// A user among the members of a group.
using UserTurn = TurnOf<Line>;

// The members of a group of users that a pass may serve. A user without a group is the only member
// of one.
struct Members {
  std::set<UserTurn> turns;
  // Position of this round in `turns`: members before it get nothing more.
  uint64_t round = 0;
  std::optional<UserTurn> at;
};

// A group among groups.
using GroupTurn = TurnOf<Members>;

struct Turn {
  JobId job;
  GroupKey group = 0;
  Line* line = nullptr;
  bool fresh = false;  // its group may look at every node
};

// One way along all lines. A job that is served moves back in its line, so that nothing before the
// place where the search has come to changes. One round at a time.
class Round {
 public:
  // `number`: from 1, and another one for each round.
  Round(const std::set<GroupTurn>& turns, uint64_t number) : turns_(turns), number_(number) {}

  // The next turn; of fresh groups alone, where `fresh_only` of their user.
  std::optional<Turn> Next(const std::function<bool(const std::string&)>& fresh_only);
  // The result of a turn, reported before the next one. The job was given something, and is then at
  // `now` (nullptr: in no line); it gets nothing more; nor does any other job of its group.
  void Served(const JobTurn* now, GroupKey group);
  void Passed();
  void PassedGroup();

 private:
  std::optional<Turn> NextOf(Members& members,
                             const std::function<bool(const std::string&)>& fresh_only);
  bool Step(bool fresh_only);
  void Push(const Line::Again& next);
  void GoOn(const JobTurn* next);

  const std::set<GroupTurn>& turns_;
  const uint64_t number_;
  std::optional<GroupTurn> group_;  // position of the search among groups
  // The turn under way.
  Line* line_ = nullptr;
  Line::Again now_;
};

}  // namespace spate::engine::place
