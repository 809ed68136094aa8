// Checker: one promise, judged from the stream of facts. One file for each: check_*.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/fact.h"
#include "sim/task_book.h"
#include "sim/workload.h"

namespace spate::sim {

// Defects that were found; a checker adds lines.
class Findings {
 public:
  void Add(const char* checker, std::string text) { lines_.push_back({checker, std::move(text)}); }
  struct Line {
    std::string checker;
    std::string text;
  };
  const std::vector<Line>& lines() const { return lines_; }

 private:
  std::vector<Line> lines_;
};

// Scene that all checkers may look at. The book is up to date with the fact that they see.
struct Scene {
  Instant now;
  TaskBook& book;
  const Workload& workload;
  const Options* hub;  // of a hub's world; null: of a run's
  // More than any message or order is late by, there and back.
  Duration slack;
};

class Checker {
 public:
  virtual ~Checker() = default;
  virtual const char* name() const = 0;
  virtual void Observe(const Scene& scene, const Fact& fact, Findings& findings) = 0;
};

std::unique_ptr<Checker> MakeAttemptsCheck();   // no attempt runs twice, no task twice at once
std::unique_ptr<Checker> MakeDurableCheck();    // nothing leaves before its record is durable
std::unique_ptr<Checker> MakeEndsCheck();       // an end is told once, and what ended stays so
std::unique_ptr<Checker> MakeCompleteCheck();   // every accepted task ends, and truly
std::unique_ptr<Checker> MakeResourcesCheck();  // no node is oversold
std::unique_ptr<Checker> MakeReplayCheck();     // the journal gives the same state again
std::unique_ptr<Checker> MakeRepeatsCheck();    // tasks are repeated for a stated reason only
std::unique_ptr<Checker> MakeOutputCheck();     // output stays with the attempt that wrote it
std::unique_ptr<Checker> MakeLimitsCheck();     // time limits are kept
std::unique_ptr<Checker> MakeGraphCheck();      // tasks wait for their parents
std::unique_ptr<Checker> MakeGangsCheck();      // a gang runs whole or not at all
std::unique_ptr<Checker> MakeJournalCheck();    // nobody's journal is called damaged
// Checks of a hub's world.
std::unique_ptr<Checker> MakeLossesCheck();     // what runs on a living node is not taken for lost
std::unique_ptr<Checker> MakeSilentCheck();     // what holds its tasks in silence is given up
std::unique_ptr<Checker> MakeStraysCheck();     // what was given up is ended
std::unique_ptr<Checker> MakeAcksCheck();       // submissions that were acknowledged are durable
std::unique_ptr<Checker> MakeAnswersCheck();    // what was answered is so, and durable
std::unique_ptr<Checker> MakeOrderCheck();      // nothing is given out before its time, or in vain
std::unique_ptr<Checker> MakeBoundsCheck();     // max_running of jobs and users is never exceeded
std::unique_ptr<Checker> MakeFairCheck();       // users with enough work get their shares
std::unique_ptr<Checker> MakeBlameCheck();      // a machine that fails everything costs no task
std::unique_ptr<Checker> MakePoolsCheck();      // pilots are asked for once, for work, and let go
std::unique_ptr<Checker> MakeDeadlinesCheck();  // nothing starts too late, or runs too long
std::unique_ptr<Checker> MakeClockCheck();      // times are told right, whatever clocks do
std::unique_ptr<Checker> MakeDisplaysCheck();   // the same of times and durations that are shown
std::unique_ptr<Checker> MakeFrozenCheck();     // what is stopped stands still, and nothing else
std::unique_ptr<Checker> MakeRunningCheck();    // what is shown as running runs
std::unique_ptr<Checker> MakeReservationsCheck();  // gangs start no later than they were told
std::unique_ptr<Checker> MakeStarvingCheck();      // the first of the gangs starts at last
std::unique_ptr<Checker> MakeDemandCheck();        // pools request no more than there is work for
std::unique_ptr<Checker> MakeGrowthCheck();        // nothing grows that nobody needs
std::unique_ptr<Checker> MakePassedCheck();        // a glutton does not go before others
std::unique_ptr<Checker> MakeLivesCheck();         // nodes outlive what they are given

// All of them behind one book.
class Judge {
 public:
  // `hub`: the options of a hub's world; null: it is a run's.
  Judge(const Workload& workload, Duration slack, const Options* hub = nullptr);
  void Observe(Instant now, const Fact& fact);
  const std::vector<Findings::Line>& findings() const { return findings_.lines(); }
  TaskBook& book() { return book_; }

 private:
  const Workload& workload_;
  Duration slack_;
  const Options* hub_;
  TaskBook book_;
  Findings findings_;
  std::vector<std::unique_ptr<Checker>> checkers_;
};

// A node's part of an attempt: all of it, except for gangs.
using PartRef = std::pair<AttemptRef, NodeId>;

// "2.17#3": job, index + 1 and attempt, as people write them.
std::string NameOf(const AttemptRef& ref);
// "26 job 3 tasks 1-4": a question's number, and what it names.
std::string NameOf(const wire::Question& question);
bool Same(const TaskOutput* a, const TaskOutput* b);

}  // namespace spate::sim
