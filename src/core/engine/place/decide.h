// Decide: who gets how much of which node now. Numbers in, numbers out: which tasks they are is
// chosen last, by whoever keeps them.
//
// Order is the board's lines (turns.h): the user with the smallest share first, and of that user's
// jobs of the highest priority the one with the smallest share, then the oldest; within a job its
// classes in the order of ready.h. Alone, a job takes all the room there is; where users or jobs
// contend, each takes a part of a node's room and has to wait for its turn again, so that the
// shares meet. Fit is greedy.h's: a request without room has some reserved; one that fits no node
// stands in nobody's way.
//
// Cost: a look at each roomy node for each distinct request that comes to a head, and a logarithm
// for each assignment. Nodes that were found to be well supplied are not roomy until something ends
// there. Jobs that ask for the same are one group: a new group looks at all nodes once, then at
// roomy ones; one that fits no node stands aside until a node joins; jobs and users at their bound
// stand in no line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/place/board.h"
#include "core/engine/place/greedy.h"

namespace spate::engine::place {

// So many tasks of one class, whose turn comes before `until`, for a node.
struct Assignment {
  const Job& job;
  uint32_t request = 0;
  NodeId node;
  uint32_t most = 0;
  ClassTurn until;
};
// The result of an assignment.
struct Answer {
  uint32_t tasks = 0;  // so many were given; 0: none of them may go there
  bool waits = false;  // but the first of them may, later, and the node is to be kept for it
};
// Tells the board what it gives (LeaseTasks, SetFacts, Ready::Set, Settle) before it answers.
using Give = std::function<Answer(const Assignment&)>;

class Decider {
 public:
  explicit Decider(Board& board) : board_(board), fit_(board) {}

  // All that there is to give now. It depends on the board, the time and the answers alone. Returns
  // for whom room is kept.
  // `yields`: whether others are to go before the job's turn; then nothing more is given, and
  // `yielded` says so.
  using YieldsTo = std::function<bool(const Job&)>;
  const std::vector<Reservation>& Decide(Instant now, const Give& give,
                                         const YieldsTo& yields = nullptr);
  bool yielded() const { return yielded_; }

 private:
  // The result of a job's turn.
  enum class Served : uint8_t {
    kTasks,     // it was given some
    kAskAgain,  // another node or request may do
    kNothing,
    kNoNode,  // nothing, and no node is left for jobs that ask for the same
    kMisfit,  // likewise, and no node ever fits them
  };

  void TakeTurn(const Turn& turn, const Give& give);
  bool IsAlone(const Job& job) const;
  bool Yields(const Job& job);
  void ReportServed(const Job& job, Served served);
  Job::Asking& AskingOf(Job& job);
  Served Serve(Job& job, Job::Asking& asking, const Give& give);
  Served PassOver(Job& job, Job::Asking& asking);
  Bound BoundOf(Job& job, uint32_t request);
  uint32_t PartOf(const Job& job, uint32_t room) const;
  void EndPass();

  Board& board_;
  Greedy fit_;
  uint64_t number_ = 0;  // of the round
  std::optional<Round> round_;
  YieldsTo yields_;
  bool yielded_ = false;
  bool looked_ = false;  // the job whose turn it is did look
  // Groups of jobs that have looked at all nodes, and those that fit none.
  std::vector<std::pair<User*, GroupKey>> looked_groups_;
  std::vector<std::pair<const std::string*, GroupKey>> misfits_;
};

}  // namespace spate::engine::place
