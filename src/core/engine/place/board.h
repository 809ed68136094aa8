// The input of placement: nodes, users and jobs, and which of them want and have what. It knows no
// tasks and no records: its owner reports changes to it, and Decide (decide.h) reads it.
//
// A user's line, and the user's place among users, are brought up to date by Settle, once for all
// changes of a job since the last time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/engine/place/past_use.h"
#include "core/engine/place/place.h"
#include "core/engine/place/ready.h"
#include "core/engine/place/turns.h"
#include "core/model/job.h"
#include "core/model/limits.h"
#include "core/model/needs.h"

namespace spate::engine::place {

// A node's work for one job.
struct JobHere {
  Amounts held;         // that its leases take
  Amounts over;         // the part of `held` whose tasks have ended there (Board::SetOver)
  uint32_t leased = 0;  // tasks
  // In User::used. Those that wait for others there to end cost nothing, so it grows with leases
  // ahead and goes with the last ones: at most `whole`, and as little as may run of that at once.
  uint64_t charged = 0;
  uint64_t whole = 0;  // what they would take if all ran
  Duration wall;       // a moving average of what ended lately; zero: not known
  bool fails = false;  // it is of failures alone, which say little of those to come
  // While it has leases: the longest planned time among their tasks (zero: some have none), and
  // when it was given the last of them.
  Duration planned;
  Instant given_at;
  bool stopped = false;  // one of them: nobody knows when it ends
};

// A part of a gang on a node, and what it takes there.
struct PartKey {
  JobId job;
  TaskIndex index = 0;
  friend auto operator<=>(const PartKey&, const PartKey&) = default;
};
struct PartHere {
  Amounts held;
  BoundBy bound = BoundBy::kUnknown;
  uint64_t charge = 0;               // in User::used
  Instant until = Instant::Never();  // by its user's estimate; Never(): there is none
  Duration left;                     // of that, while the gang is stopped and nobody knows its end
};

// Room that is kept on a node for gangs.
struct Hold {
  Instant start;    // no sooner than this, as far as is known
  Amounts amounts;  // that they have then
  // It is kept from the tasks of this user only; null: from everybody's.
  const std::string* user = nullptr;
  friend bool operator==(const Hold&, const Hold&) = default;
};

struct Job;

struct Node {
  bool present = false;  // joined in this life of the hub, and not silent
  bool drained = false;
  Offer offer;            // empty until it has joined
  Duration ends_late_by;  // it reports ends so late, as its offer says (core/model/late_ends.h)
  // Jobs that avoid this node, and why. `sick`: why every job avoids it. Besides jobs that go on
  // there are ended ones (NodeRecord::blames).
  std::map<JobId, std::string> set_aside;
  std::string sick;
  std::string no_room;  // on its disk, as it says; empty: it has some

  std::map<JobId, JobHere> jobs;      // with leases, and a few of the last without
  std::map<PartKey, PartHere> parts;  // of gangs
  std::map<PartKey, uint32_t> over;   // requests of single tasks that have ended (Board::SetOver)
  std::vector<Hold> holds;            // gangs.h; at most one for each Hold::user
  uint32_t leased = 0;                // tasks
  // Leased tasks and parts, by what slows them down (TaskClass::bound).
  std::array<uint32_t, kCountOf<BoundBy>> bound = {};
  uint32_t lossy = 0;     // of them, that were present at a loss: nothing waits behind them
  Amounts held;           // the sum over jobs and parts
  bool crowded = false;   // tasks wait there behind others
  Instant moved;          // a task ended, or was given to it when it had room
  bool recalled = false;  // it was asked for what waits there, and neither answered nor was given
                          // anything since
  bool roomy = false;     // it may have room for what there is; see Board::MarkRoomy
  Instant late_until;     // it did not find room for a part of a gang in time: others are better
  bool asked = false;     // SendAsk was sent since it joined or was late
  bool answered = false;

  // Gangs use other nodes if they can.
  bool IsLate(Instant now) const { return now < late_until || (asked && !answered); }
  // Room is kept there from everybody.
  bool IsHeld() const {
    return std::ranges::any_of(holds, [](const Hold& hold) { return hold.user == nullptr; });
  }

  // For others than placement.
  Instant lost_at = Instant::Never();  // while it is silent
  uint64_t ended = 0;                  // attempts
  uint64_t failed = 0;                 // of them

  // Tasks of other jobs run there that wait for the same as those of this class.
  bool SlowsDown(const Job& job, uint32_t request) const;
  // Amounts held in all, or by one of `jobs`, less those that are over; in `room` if any are over.
  const Amounts& Taken(Amounts& room) const { return over.empty() ? held : Rest(room); }
  const Amounts& TakenBy(const JobHere& here, Amounts& room) const {
    return over.empty() ? here.held : Rest(here, room);
  }
  // It has tasks or a part of the job. Cost: a look at its parts.
  bool Has(JobId job) const {
    const auto here = jobs.find(job);
    if (here != jobs.end() && here->second.leased > 0) return true;
    return std::ranges::any_of(parts, [job](const auto& each) { return each.first.job == job; });
  }
  // It would run tasks, if it had to.
  bool IsThere() const { return present && !drained && no_room.empty(); }
  bool TakesTasks() const { return IsThere() && sick.empty(); }
  // So many of the user's jobs have set it aside that it is not tried with another one of theirs.
  bool Fails(const std::string& user) const;

 private:
  const Amounts& Rest(Amounts& room) const;
  static const Amounts& Rest(const JobHere& here, Amounts& room);
};

// Totals over a user's jobs, or over those of a group's members.
struct Totals {
  uint32_t jobs = 0;     // that have not finished
  uint32_t leased = 0;   // tasks
  uint64_t unended = 0;  // tasks that have not ended
  // Millionths of processors that the leases take; what waits on a node behind what runs there
  // counts little.
  uint64_t used = 0;
  // Likewise, of what stands idle as it is kept for the user's gangs (Board::SetKept).
  uint64_t kept = 0;

  void Add(const Totals& more);
  void Subtract(const Totals& less);
  bool IsBoundBy(const UserRule& rule) const {
    return rule.max_running > 0 && leased >= rule.max_running;
  }
};

// Past use of those who share, and the use that their leases will yet make.
struct Use {
  PastUse past;      // of `used` and `kept`, in the past
  double ahead = 0;  // millionths of processors, times seconds that the leases go on, as expected
};

// Users who share one place among others; a user without a group has one alone.
struct Group : Totals, Use {
  UserRule rule;  // of a named group: its own; else unused
  // Turns, as User::given.
  uint64_t given = 0;
  uint64_t last_given = 0;        // the largest User::given that was served
  std::set<std::string> users;    // of a named group: all of them
  Members members;                // those that ask
  std::optional<GroupTurn> turn;  // in Board::turns, while members ask and it is not at its bound

  bool IsBound() const { return IsBoundBy(rule); }
};

struct User : Totals, Use {
  const std::string* name = nullptr;  // in Board::users
  UserRule rule;
  Group* group = nullptr;                   // never null on a board
  const std::string* group_name = nullptr;  // in Board::groups
  // Jobs with something to give out: how many have which priority, and which weight.
  std::map<int32_t, uint32_t, std::greater<>> wanting;
  std::map<uint32_t, uint32_t> weights;
  Line line;  // those of them that a pass may serve
  // Turns, by weight: one for what a node is given in one go, as short tasks are given many at
  // once. A user who comes back has no claim to what others were given meanwhile.
  uint64_t given = 0;
  uint64_t last_given = 0;       // the largest Job::given that was served
  Instant silent_until;          // one of the user's own nodes found no room for a part in time
  std::optional<UserTurn> turn;  // in its group's Members, while it asks

  bool IsBound() const { return IsBoundBy(rule) || group->IsBound(); }
  // The highest priority at which jobs want something that a node has, and how many do: those that
  // fit no node take nothing from anybody. nullopt: none.
  struct Contenders {
    int32_t priority = 0;
    uint32_t jobs = 0;
  };
  std::optional<Contenders> contenders() const;
};

// Facts about a job, next to what its classes have to give out.
struct JobFacts {
  bool runnable = false;  // its queued tasks may be given out
  bool finished = false;
  uint32_t queued = 0;            // tasks
  uint32_t leased = 0;            // tasks
  uint32_t waiting = 0;           // of the queued ones, for room or for their delay
  uint32_t gangs_waiting = 0;     // of these
  uint32_t at_once = UINT32_MAX;  // so many may be leased, by rules that may hold the job
  uint32_t max_running = 0;       // so many at most; 0: no bound
  uint32_t weight = kJobWeight;
  bool known = false;               // tasks of it run, or have succeeded
  bool lossy = false;               // one of its tasks was present at a loss
  bool troubled = false;            // attempts failed on nodes lately
  std::vector<NodeId> avoids = {};  // these nodes get none of it; sorted

  // A node is something special to it.
  bool particular() const { return troubled || lossy; }
};

struct Job {
  JobId id;
  const std::string* user_name = nullptr;
  User* user = nullptr;
  int32_t priority = 0;
  const std::vector<TaskClass>* requests = nullptr;  // by class
  JobFacts facts;
  Ready ready;
  Ready gangs;  // likewise, of the classes that are gangs

  Duration wall;       // a moving average of what single tasks of it took lately; zero: not known
  Duration gang_wall;  // likewise, of its gangs
  uint64_t used = 0;   // its part of User::used
  double ahead = 0;    // its part of User::ahead
  uint64_t given = 0;  // as User::given
  uint32_t over = 0;   // leased tasks that have ended (Board::SetOver)
  // Its contribution to its user's counts.
  uint32_t unended = 0;
  bool counted = false;
  std::optional<uint32_t> weight;  // while it wants
  // Its place in its user's line, while it asks.
  struct TurnKey {
    JobTurn turn;
    GroupKey group = 0;
    friend bool operator==(const TurnKey&, const TurnKey&) = default;
  };
  std::optional<TurnKey> place;
  Instant due = Instant::Never();  // in Board::dues
  bool unsettled = false;          // something of it was told since
  bool refresh = false;            // its group is to look at every node

  // State of the job in one pass. Another pass starts afresh.
  struct Asking {
    uint64_t round = 0;
    std::optional<Ready::Entry> passed;  // no room for classes up to this turn
    bool fits = false;                   // one of those fits some node
    bool done = false;
  } asking;
  // By class: the seeker of this round.
  struct Seeks {
    uint64_t round = 0;
    uint32_t seeker = 0;
  };
  std::vector<Seeks> seeks;

  const Needs& NeedsOf(uint32_t request) const { return (*requests)[request].needs; }
  const TaskClass& ClassOf(uint32_t request) const { return (*requests)[request]; }
  bool IsGang(uint32_t request) const { return !ClassOf(request).gang.empty(); }
  // Single tasks do.
  bool wants() const { return facts.waiting > facts.gangs_waiting && facts.runnable; }
  bool is_bound() const {
    return facts.max_running > 0 && facts.leased >= uint64_t{facts.max_running} + over;
  }
  // Tasks wait for nothing but room, and one more may be leased.
  bool asks() const { return !ready.empty() && !is_bound() && facts.runnable; }
  bool asks_for_gang() const {
    return !gangs.empty() && !is_bound() && facts.leased < facts.at_once && facts.runnable;
  }
  // Jobs of one group find room on the same nodes.
  GroupKey group() const;
  bool Avoids(NodeId node) const {
    return std::binary_search(facts.avoids.begin(), facts.avoids.end(), node);
  }
};

// The share of a node that one task of this request takes.
uint64_t ShareOf(const Node& node, const Needs& needs);
// The node could run tasks of this request of the user now, were it idle. 0: not; else so many at
// once. One that is set aside for all jobs cannot, unless `even_sick`.
uint32_t FitNow(const Node& node, const std::string& user, const Needs& needs, Instant now,
                bool even_sick = false);

class Board {
 public:
  explicit Board(const Limits& given) : limits(given) {}

  Job* FindJob(JobId id);
  const Job* FindJob(JobId id) const;
  Job& AddJob(JobId id, const std::string& user, int32_t priority,
              const std::vector<TaskClass>& requests);
  // Classes that its requests came to have.
  void AddClasses(Job& job);
  // It has finished.
  void DropJob(JobId id);
  void DropNode(NodeId id);

  // ---- What is told
  // `user` may be a group (IsGroup).
  void SetRule(const std::string& user, const UserRule& rule);
  // The rest follows with Settle.
  void SetFacts(Job& job, JobFacts facts);
  // The job looks at every node when it is settled next, with all that asks for the same.
  void Refresh(Job& job);
  // `tasks` of the job take something of the node, or no longer do.
  void AddUse(Job& job, Node& node, uint32_t request, uint32_t tasks);
  void DropUse(Job& job, Node& node, uint32_t request, uint32_t tasks);
  // The same, as they were leased to it, or are no longer.
  void LeaseTasks(Job& job, Node& node, uint32_t request, uint32_t tasks, bool lossy);
  void ReturnTasks(Job& job, NodeId id, Node& node, uint32_t request, uint32_t tasks, bool lossy);
  // A single task has ended on the node, which reports the end later: until then the task is leased
  // and takes no room. DropOver: before its use is dropped.
  void SetOver(Job& job, NodeId id, Node& node, TaskIndex index, uint32_t request);
  void DropOver(Node& node, const PartKey& key);
  // A part of a gang is leased to it, or is no longer. `now`: when its estimate begins.
  void AddPart(Job& job, Node& node, const PartKey& key, uint32_t request, uint32_t procs,
               Instant now);
  void DropPart(Job& job, NodeId id, Node& node, const PartKey& key);
  // So many gangs of the job are leased to some nodes, or are no longer.
  void GiveGangs(Job& job, uint32_t tasks) {
    Add(*job.user, {.leased = tasks});
    CountTurn(job);
  }
  void ReturnGangs(Job& job, uint32_t tasks) { Subtract(*job.user, {.leased = tasks}); }
  // So much stands idle for the user's gangs; it counts as what the user has (ShareOf).
  void SetKept(const std::string& user, uint64_t kept);
  // It has no leases: its offer and speed are learned anew.
  void Forget(Node& node);
  void Learn(Node& node, JobId job, Duration wall, bool success);
  void LearnGang(JobId job, Duration wall);
  // The time goes on: what users have is counted up to it. At first, and whenever much time has
  // passed, costs a look at all users; else at a few.
  void SetClock(Instant now);
  // Zero: shares are what is in use, and past use does not count.
  void SetHalfLife(Duration half_life);
  void SetPriority(Job& job, int32_t priority);
  // Sets the use that was recorded for a user at that time.
  void SetPast(const std::string& user, double use, Instant at);
  // The node may have room for what there is.
  void MarkRoomy(NodeId id, Node& node);
  void Settle(Job& job);
  // The job whose tasks are due first, if they are due now. Its classes are to be told, and it is
  // to be settled.
  Job* NextDueJob(Instant now);
  Instant NextDue() const { return dues.empty() ? Instant::Never() : dues.begin()->first; }
  // The group fits no node, and stands aside until UnparkAll.
  void Park(const std::string& user, GroupKey group);
  void UnparkAll();

  // ---- Questions
  // The user's share among the members of the group, by weight: what was used lately, and will be
  // by what is leased. Comparable with others at any time (Inflation).
  double ShareOf(const User& user) const;
  // The share of the user's group among groups: its own by weight, or that of its only member.
  double GroupShareOf(const User& user) const;
  // The growth of that share by more leased tasks of the job, which take `used` millionths of
  // processors.
  double ShareOfMore(const Job& job, uint64_t used) const;
  Duration half_life() const { return half_life_; }
  Instant clock() const { return clock_; }
  // Recent duration of tasks of all jobs; zero: not known.
  Duration mean_wall() const { return wall_; }
  // Use of a user or group that counts now, in millionths of processors, times seconds.
  template <typename T>
  double UseOf(const T& of) const {
    PastUse use = of.past;
    use.Count(clock_, static_cast<double>(of.used + of.kept), half_life_);
    return half_life_.ns > 0 ? use.amount() : 0;
  }
  // True if anybody used something since the last call, and other users exist.
  bool TakeUsed() { return std::exchange(was_used_, false) && users.size() > 1; }
  // More than one wants nodes now: users, or one user's jobs of the same priority.
  bool Contended() const;
  // True if tasks that are not short may wait behind others on a node: nobody else wants it, and no
  // other node could start them sooner.
  bool HoldsLongAhead() const { return !Contended() && nodes.size() < 2; }
  // Tasks that wait on the node would start sooner elsewhere: those there are not as short as they
  // were.
  bool Stalls(const Node& node, Instant now) const {
    return nodes.size() > 1 && node.leased > 0 && now >= node.moved + limits.lease_patience;
  }
  // Tasks that a node holds ahead of one that runs, by how long the job's tasks take there.
  uint32_t AheadOf(const Node& node, const JobHere& here) const;
  // A node that `without` leaves in takes tasks of this request of the user.
  template <typename Without>
  bool SomeTake(const std::string& user, const Needs& needs, Instant now, Without without) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& each) {
      return !without(each.first) && FitNow(each.second, user, needs, now) > 0;
    });
  }

  const Limits limits;
  std::map<NodeId, Node> nodes;
  Totals all;  // over all users
  std::map<std::string, User> users;
  // By name, '@' first; and those of users without one, by the user's name.
  std::map<std::string, Group> groups;
  std::unordered_map<JobId, Job> jobs;  // looked up, never walked to decide
  // Users that have contenders; and groups with a member that asks for something and may have it.
  std::set<const User*> wanting;
  std::set<GroupTurn> turns;
  // Wanting jobs by the time at which the next of their tasks is due.
  std::set<std::pair<Instant, JobId>> dues;
  uint64_t last_given = 0;  // the largest Group::given that was served
  uint32_t crowded = 0;     // nodes on which tasks wait behind others
  std::map<JobId, Job*> asking_for_gangs;
  // Since the last pass over gangs one came to wait, or a node has more room.
  bool look_at_gangs = false;

  // ---- Decide's
  // Nodes that may have room for what there is, each perhaps more than once, and some that have
  // gone: Node::roomy counts. Others were found to be well supplied, and nothing of them has ended
  // since.
  std::vector<NodeId> roomy;
  bool look_at_all = false;  // something else changed: the next pass looks at every node
  bool unpark = false;       // another node may fit what had fitted none
  uint64_t rounds = 0;       // Round

 private:
  std::map<std::string, User>::iterator UserOf(const std::string& name);
  void Join(const std::string& name, User& user, const std::string& to);
  void Leave(const std::string& name, User& user);
  // Changes the totals of the user and of the user's group.
  void Add(User& user, const Totals& more);
  void Subtract(User& user, const Totals& less);
  // Counts the user's use up to now, before it changes.
  void Count(User& user);
  void CountAll();
  Duration AheadOf(const Job& job) const;
  void CountAhead(Job& job);
  template <typename T>
  static void AddAhead(T& of, double more);
  template <typename T>
  double AmountOf(const T& of) const;
  double Inflation(Instant at) const;
  JobHere& Here(Node& node, JobId job);
  void CountTurn(Job& job);
  void CountCrowded(Node& node);
  void CountWanting(Job& job);
  void MoveInLine(Job& job);
  void SetDue(Job& job);
  void SettleUser(const std::string& name, User& user);
  void SettleGroup(const User& user);

  Duration half_life_ = limits.share_half_life;
  Instant clock_;             // 0: before the first step
  Instant epoch_;             // shares are as they would be then
  Duration wall_;             // a moving average of what tasks of all jobs take; zero: not known
  std::string last_counted_;  // of the users, in turn
  Instant counted_at_;
  bool was_used_ = false;
};

}  // namespace spate::engine::place
