// Gangs: which of those that wait start now, and on which nodes. A gang needs all of its processes
// at once, so while small tasks take every slot that comes free it would wait for ever. So one
// that finds no room, the *head*, has a reservation: the nodes that are free for it first, by what
// is known of the ends of what runs there, and the time of that. Others may start before it where
// they leave it that: they end before it begins, or take what it leaves.
//
//   fair          the order is that of users and jobs (turns.h); others may overtake the head. A
//   user
//                 who has less than those of single tasks has nodes left for several at once
//   fcfs          in the order of submission; nobody overtakes
//   easy          in the order of submission; others may overtake the head
//   easy-sjbf     the same, of the others the one with the shortest estimate first
//   conservative  each of the first classes has a reservation, and nobody delays any of them
//
// Nodes are kept for a gang only while it is known when others' tasks leave them (GangPromise).
// Otherwise one task that nobody knows the end of, and a gang that waits for it, would stop all
// nodes for all users.
//
// The rules of the last four are those of backfill.h, which knows one kind of processor on one
// machine and is quick enough for the traces of years. A property test holds the two together, but
// for conservative, which moves its reservations in each pass here.
//
// Single tasks know of reservations by Node::hold: they start on such a node where they end in
// time, or take what is left beside it (greedy.h).
//
// Cost of a pass: a look at each gang's class that waits; at each node, for each distinct request
// among those that may have room at all, and for each reservation at each end that is known of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/engine/place/board.h"
#include "core/engine/place/node_ahead.h"
#include "core/model/class_demand.h"
#include "core/model/gang.h"

namespace spate::engine::place {

struct GangPlace {
  NodeId node;
  uint32_t procs = 0;
  friend bool operator==(const GangPlace&, const GangPlace&) = default;
};

// The first task of a class starts there.
struct GangStart {
  const Job& job;
  uint32_t request = 0;
  std::vector<GangPlace> places;
};
// False: none of them may start now after all. Tells the board what it gives, as Give does.
using GiveGang = std::function<bool(const GangStart&)>;

// The promise to a waiting gang: its start and its places.
struct GangPromise {
  JobId job;
  uint32_t request = 0;
  Instant start;  // at the latest, as far as is known; Never(): that is not known
  std::vector<GangPlace> places;

  // Users whose single tasks leave the gang its nodes.
  enum class Binds : uint8_t {
    kAll,
    kOwnUser,  // it waits for tasks of its own user: the others use the nodes until these end
    // Its start is unknown: what it waits for has no estimate, or is long past it. At intervals it
    // binds all for a while (kAll), so that such tasks do not keep it waiting for ever.
    kNobody,
  };
  Binds binds = Binds::kAll;
  bool waits_for_own = false;  // what ends last before it starts is its own user's
  // The reason why it binds no other users: its user's tasks broke an earlier promise, the others
  // have less than half of its user's share, or a node of its user's own has not answered.
  enum class Unbound : uint8_t { kNot, kBroke, kOverShare, kSilentNode };
  Unbound unbound = Unbound::kNot;
  // Since when it binds all, and the start that was said then; Never(): it does not.
  Instant said_at;
  Instant said = Instant::Never();
  bool late = false;      // what it waits for is long past its estimate, so nothing is known of it
  Instant unknown_since;  // when it is not known when it starts
  // With kFair: nodes that others leave to further gangs of its class, as its user has less than
  // those of single tasks; they start on any of them.
  std::vector<GangPlace> further;
  // Others plan around it: it has a start, or binds all.
  bool claims() const { return start != Instant::Never() || binds == Binds::kAll; }
  // When it starts, if that is more than an estimate that others may undo.
  Instant told() const { return binds == Binds::kAll && !late ? start : Instant::Never(); }
};

class Gangs {
 public:
  explicit Gangs(Board& board) : board_(board) {}

  void SetPolicy(GangPolicy policy) { policy_ = policy; }
  GangPolicy policy() const { return policy_; }

  // Before single tasks have their turn. `heads` tells the class of the gang that is the head at
  // that moment, then of those that were before others went before them. With kFair those go on
  // whose users come before all that have single tasks.
  using Heads = std::function<std::vector<ClassKey>()>;
  void Decide(Instant now, const Heads& heads, const GiveGang& give);
  // With kFair, in between: whether one of the others would still have less than this job's user if
  // it was started now; and starts those that come before single tasks by now. False: none has
  // room.
  bool ComesBefore(const Job& of_singles) const;
  bool DecideNext(Instant now, const GiveGang& give);
  // With kFair, behind single tasks: the others may have what is left beside reservations.
  void DecideRest(Instant now, const GiveGang& give);

  // At the end of a pass, when nobody takes anything more: charges users for what stands idle as it
  // is kept for their gangs.
  void ChargeUsers();

  // Promises of the last pass. Those without a known start may stand before the head's.
  const std::vector<GangPromise>& promises() const { return promises_; }
  // The first one that others plan around, else the first one; null: there is none.
  const GangPromise* head() const;
  // Time alone changes then whom promises bind; Never(): it does not.
  Instant next_look() const { return next_look_; }
  // Nothing waits: nodes are kept for nobody.
  void DropHolds();
  // Nodes that need a SendAsk, each once.
  std::vector<NodeId> TakeUnasked() { return std::exchange(unasked_, {}); }

 private:
  // One class of a job, in the order in which they are tried.
  struct Entry {
    double group_share = 0;
    uint64_t group_given = 0;
    double user_share = 0;  // among members of the group
    uint64_t user_given = 0;
    int64_t rank = 0;  // the shortest estimate first
    int32_t priority = 0;
    uint64_t share = 0;
    JobId job;
    ClassTurn turn;
    uint32_t request = 0;
    Job* known = nullptr;
    ClassKey key() const { return {job, request}; }
    friend bool operator<(const Entry& a, const Entry& b) {
      const auto before =
          std::tie(a.group_share, a.group_given, a.user_share, a.user_given, a.rank);
      const auto behind =
          std::tie(b.group_share, b.group_given, b.user_share, b.user_given, b.rank);
      if (before != behind) return before < behind;
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.share != b.share) return a.share < b.share;
      if (a.job != b.job) return a.job < b.job;
      if (a.turn < b.turn || b.turn < a.turn) return a.turn < b.turn;
      return a.request < b.request;
    }
  };
  // Thousandths of processors that are free at most: on each node with a slot, the most first; and
  // in all.
  struct Free {
    std::vector<uint64_t> of_node;
    uint64_t all = 0;
    std::vector<uint64_t> counted;  // of each in ahead_
    void Count(std::vector<uint64_t> of_each);
    void Change(size_t node, uint64_t to);
    bool Fits(const TaskClass& of_gang) const;
  };
  // The first one is at the front (a heap). What is in it may be out of date, and is looked at
  // again when it comes up.
  class Line {
   public:
    bool empty() const { return entries_.empty(); }
    const std::vector<Entry>& entries() const { return entries_; }
    void Push(const Entry& entry);
    Entry Pop();
    // Those for which it is true go.
    void EraseIf(const std::function<bool(const Entry&)>& gone);
    void Fill(std::vector<Entry> entries);

   private:
    static bool ComesBehind(const Entry& a, const Entry& b) { return b < a; }
    std::vector<Entry> entries_;
  };

  bool Overtakes() const { return policy_ != GangPolicy::kFcfs; }
  size_t MostPromises() const;
  void EnterNext(Line& line, const Entry& started) const;
  Entry EntryOf(Job& job, uint32_t request, const ClassTurn& turn) const;
  Line LineNow() const;
  bool ComesBeforeSingles(const Entry& entry) const;
  void Begin(Instant now);
  static std::vector<Entry> DrainFirst(Line& line, const ClassKey& head);
  void TryHeads(Line& line, const Heads& heads, const GiveGang& give);
  bool TryHead(Line& line, const ClassKey& head, const GiveGang& give);
  // The gangs to walk over: those before single tasks, which may be promised nodes; the same, to
  // start only; or all.
  enum class Which : uint8_t { kFirst, kNext, kRest };
  void Walk(Line line, Which which, const GiveGang& give);
  void BeginAgain(Instant now);
  static std::vector<Entry> FirstOf(Line& line, const std::vector<ClassKey>& heads);
  size_t CountUnseating(std::span<const Entry> first, const std::vector<ClassKey>& heads) const;
  const GangPromise* PromisedBefore(const Entry& entry) const;
  bool Restore(std::span<const Entry> first);
  std::vector<Entry> BeginAnew(std::vector<Entry> first, const std::map<ClassKey, size_t>& order,
                               const GiveGang& give);
  static void GoOn(Entry& entry);
  void WalkConservative(Line line, const Heads& heads, const GiveGang& give);
  bool TryStart(const Entry& entry, const GiveGang& give);
  bool Promise(const Entry& entry);
  uint32_t CountFurther(const Job& job, uint32_t request) const;
  std::span<const GangPlace> FurtherBefore(const GangPromise& promise) const;
  Instant LateAt(const GangPromise& promise) const;
  void Judge(GangPromise& promise);
  void LookAgain(const GangPromise& promise);
  bool IsKept(GangPromise& promise, const GangPromise& before, const NodeAhead::LastEnds& last);
  NodeAhead::LastEnds LookForOwn(GangPromise& promise, const Job& job);
  bool IsOverShare(const User& user) const;
  bool AwaitsAnswer(const Job& job, std::span<const GangPlace> places);
  void Wait(GangPromise& promise, Instant since);
  bool IsFull() const { return claimed_ == MostPromises(); }
  bool IsOver() const;
  void ReorderFor(Line& line) const;
  bool IsCurrent(const Entry& entry) const;
  void NoteWaiting();
  NodeAhead& AheadOf(NodeId id);
  bool IsFor(const Job& job, uint32_t request, const NodeAhead& ahead);
  static bool Fails(const Job& job, const NodeAhead& ahead);
  bool HoldWithoutFailing(const Job& job, uint32_t request);
  void CountFree();
  void CountTaken(std::span<const GangPlace> places);
  // Somebody has a promise that others may be in the way of.
  bool IsClaimed() const { return claimed_ > 0 && policy_ != GangPolicy::kConservative; }
  bool MayHaveRoom(const TaskClass& of_gang) const;
  std::vector<GangPlace> PlacesNow(const Job& job, uint32_t request);
  void Claim(const GangPromise& promise);
  void Unclaim(const GangPromise& promise);
  NodeAhead::Claim ClaimOf(const GangPromise& promise, const GangPlace& place) const;
  Amounts PartAt(const GangPromise& promise, const GangPlace& place) const;
  GangPromise Earliest(const Job& job, uint32_t request);
  std::vector<GangPlace> Emptiest(const Job& job, uint32_t request, std::span<const GangPlace> kept,
                                  uint32_t gangs = 1);
  void SetHolds();
  void SetHold(NodeId id, std::vector<Hold> holds);

  Board& board_;
  GangPolicy policy_ = GangPolicy::kFair;
  bool beside_singles_ = false;  // some want nodes, in this pass
  Instant now_;
  std::vector<NodeAhead> ahead_;  // of all nodes that are there, by id
  Free free_;                     // now
  Free lasting_;                  // now, and beside what the head is promised
  Instant lasts_until_;           // what ends by then takes nothing from the head
  std::set<uint64_t> no_room_;    // kinds of requests that found none in this pass,
  std::set<uint64_t> misfits_;    // and that never will, on the nodes that there are
  std::set<ClassKey> restored_;   // of kConservative: their promises of before are claimed
  std::unordered_map<uint64_t, bool> hold_without_failing_;  // by kind, in this pass
  Line rest_;                                                // for DecideRest
  std::vector<GangPromise> promises_;
  size_t claimed_ = 0;          // of them, with GangPromise::claims
  bool drains_ = false;         // one of them binds all, and nobody knows when it starts
  std::set<uint64_t> unknown_;  // kinds of requests of which nobody knows when they start
  Instant next_look_ = Instant::Never();
  std::set<ClassKey> has_started_;  // in this pass
  // With kFair: since when gangs wait behind single tasks without a head, and none has started.
  std::optional<Instant> behind_since_;
  bool started_ = false;                              // a gang, in this pass
  const std::vector<GangPromise>* before_ = nullptr;  // those of the pass before, during one
  std::vector<NodeId> held_;                          // nodes with a hold
  std::vector<std::string> charged_;                  // users for whom nodes stand idle
  std::set<std::string> broke_;  // users who broke a promise, until a gang of theirs starts
  std::vector<NodeId> unasked_;
};

}  // namespace spate::engine::place
