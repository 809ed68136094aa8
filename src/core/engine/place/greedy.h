// Greedy fit: which node has the most room for a request now. A request without room has some
// reserved, on as many nodes as it has tasks (those with the least to do), so that small tasks
// never starve large ones: from other users at once, from its own user's requests when it has been
// without room for Limits::passed_for. Others may have the rest of such a node: a task that waits
// for a card keeps no processors idle.
//
// Knows nothing of turns: Decide (decide.h) asks it for one request after the other. Another fit
// takes its place by these functions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/place/board.h"

namespace spate::engine::place {

// Tasks that may be given out of a request.
struct Bound {
  uint32_t tasks = 0;
  uint32_t lease_tasks = 0;  // ahead of a node's slots
};

// Room for a request on one of the nodes at hand.
struct Room {
  uint32_t tasks = 0;
  uint32_t candidate = 0;
  uint32_t seen = 0;  // Candidate::changes, when this was so
  bool slow = false;  // Node::SlowsDown: while there is another one
  friend bool operator<(const Room& a, const Room& b) {
    if (a.slow != b.slow) return a.slow;
    return a.tasks != b.tasks ? a.tasks < b.tasks : a.candidate > b.candidate;
  }
};

// Room that is kept for a task.
struct Reservation {
  NodeId node;
  JobId job;
  uint32_t request = 0;
  bool passed = false;  // its user's other requests may have it
};

// A request in this pass: of one job, or of all those to which no node is special.
struct Seeker {
  bool built = false;
  bool fits = false;                   // some candidate, kept or not
  std::vector<Room> heap;              // the room for it; perhaps older than the last lease
  std::vector<uint32_t> fitting;       // candidates that it fits, and that were not kept
  size_t next = 0;                     // where ReserveRoom continues in them; 0: not sorted yet
  uint32_t most_at_once = UINT32_MAX;  // on all nodes; UINT32_MAX: not counted yet

  // Candidates are left that might be kept for it.
  bool waits() const { return next < fitting.size(); }
  void Clear();
};

class Greedy {
 public:
  explicit Greedy(Board& board) : board_(board) {}

  // A pass begins: over roomy nodes, or all when the board says so.
  void Begin(Instant now);
  // Earlier findings hold no more, as nobody contends for nodes any more.
  void Anew();
  // It ends: nodes stay roomy whose room nobody wanted, or is kept.
  void End();

  // The job whose turn it is looks at all nodes, or at roomy ones.
  void SelectNodes(bool at_all);
  bool looks_at_all() const { return all_; }
  // Nothing is left to the user of the roomy nodes; or of those that his job at hand may look at.
  bool AllKept(const std::string& user) const {
    return kept_.roomy == roomy_ && (left_to_.empty() || LeftTo(user).roomy == 0);
  }
  bool NoneLeft(const std::string& user) const {
    if (!all_) return AllKept(user);
    return kept_.all == candidates_.size() && (left_to_.empty() || LeftTo(user).all == 0);
  }

  // Some node at hand is not well supplied with tasks of the job, whatever their class. Cost: a
  // look at each.
  bool LeavesRoomFor(const Job& job) const;

  Seeker& SeekerOf(Job& job, uint32_t request, const Bound& bound);
  // Such tasks that all nodes run at once, were they idle.
  uint32_t MostAtOnce(Job& job, uint32_t request);
  // The node with the most room; 0 tasks when none has any. It is out of the seeker's sight until
  // PutBack or Given.
  Room Best(const Job& job, uint32_t request, const Bound& bound, Seeker& seeker);
  void PutBack(Seeker& seeker, Room room);
  // The job's leases on the candidate have changed.
  void Given(const Job& job, uint32_t request, const Bound& bound, Seeker& seeker,
             uint32_t candidate);
  // The tasks of the request go to other nodes; this one need not be kept for it.
  void LeaveOut(Seeker& seeker, uint32_t candidate);
  // There is no room. Reserves some on the nodes with the least to do, as many as there are tasks.
  void ReserveRoom(Job& job, uint32_t request, Seeker& seeker);

  NodeId IdOf(uint32_t candidate) const { return candidates_[candidate].id; }
  Node& NodeOf(uint32_t candidate) { return *candidates_[candidate].node; }
  const std::vector<Reservation>& reservations() const { return reservations_; }

 private:
  // Resources that jobs take of a node; those of tasks that wait behind others count little.
  struct Taken {
    Amounts exactly;
    Amounts about;  // in kParts
  };
  struct Reserved {
    std::optional<Amounts> amounts;  // that a task takes which waits for the node
    bool kept = false;               // nothing has room beside that

    void Clear() {
      amounts.reset();
      kept = false;
    }
  };
  // A node that this pass may give tasks to.
  struct Candidate {
    NodeId id;
    Node* node;
    Reserved from_all;
    // From all but the user whose requests may still pass one of his that waits there. As large as
    // `from_all` at least.
    Reserved from_others;
    const std::string* passing = nullptr;  // this user; null: there is none

    const Reserved& From(const std::string& user) const {
      return passing == nullptr || *passing == user ? from_all : from_others;
    }
    bool kept() const { return (passing == nullptr ? from_all : from_others).kept; }

    bool served = false;         // it was given tasks in this pass
    bool looked = false;         // a request that it fits looked at it,
    bool room = false;           // and last found room
    bool full = false;           // no task has room
    uint32_t changes = 0;        // of what is given and reserved there
    std::optional<Taken> taken;  // empty: not looked at since the last lease
    // It has no slot for this job's requests of which it runs so many at once.
    JobId supplied;
    uint32_t supplied_fit = 0;
    uint32_t supplied_ahead = 0;  // Bound::lease_tasks
  };
  // Common properties of jobs that share a seeker.
  struct SeekerKey {
    const Needs* needs;
    const std::string* user;
    bool ahead;
    bool all;
    BoundBy bound;
    bool operator<(const SeekerKey& other) const;
  };

  struct Counts {
    size_t all = 0;    // nodes
    size_t roomy = 0;  // of them, that were roomy when the pass began
  };

  void GatherAll();
  Seeker& Shared(const SeekerKey& key);
  Seeker& Own(Job& job, uint32_t request);
  uint32_t NewSeeker();
  void Build(const Job& job, uint32_t request, const Bound& bound, Seeker& seeker);
  bool AnySick();
  uint32_t RoomOf(const Job& job, uint32_t request, const Bound& bound, Candidate& node);
  // `fit`: such tasks that the idle node runs at once.
  uint32_t RoomOf(const Job& job, uint32_t request, const Bound& bound, Candidate& node,
                  uint32_t fit);
  Amounts HeldForGangs(const Job& job, const Needs& needs, const Node& node) const;
  const Taken& TakenOf(Candidate& node) const;
  bool TakesMore(Candidate& node, const Amounts* reserved = nullptr) const;
  bool HasSlot(Candidate& node) const;
  bool IsPassed(Job& job, uint32_t request) const;
  void Reserve(uint32_t candidate, const Job& job, uint32_t request, bool passed);
  Counts LeftTo(const std::string& user) const;

  Board& board_;
  Instant now_;
  uint64_t round_ = 0;
  std::vector<Candidate> candidates_;  // by id
  size_t roomy_ = 0;                   // so many of them were roomy
  bool gathered_all_ = false;
  bool all_ = false;              // the job whose turn it is looks at all nodes
  std::optional<bool> any_sick_;  // among the candidates; empty: not looked
  // Nodes that are kept from all users, or from all but one; and for this one such nodes.
  Counts kept_;
  std::map<std::string_view, Counts> left_to_;
  // Nodes where something is reserved; and where from all.
  size_t reserved_ = 0;
  size_t reserved_from_all_ = 0;
  // Their memory is used again in the next pass.
  std::deque<Seeker> seekers_;
  uint32_t seekers_used_ = 0;
  std::map<SeekerKey, uint32_t> shared_;
  std::vector<Reservation> reservations_;
};

}  // namespace spate::engine::place
