// A function for each family of kinds, in the order of core/model/why.h; TextOf joins the clauses.
#include "present/why.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/units.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "present/advice.h"

namespace spate::present {
namespace {

std::string Plural(uint64_t count, const char* what) {
  return fmt::format("{} {}{}", FormatCount(count), what, count == 1 ? "" : "s");
}

constexpr const char* kNewer = "for a reason that only a newer release can show";

// One clause, whose arguments may be missing.
class Clause {
 public:
  Clause(const Reason& reason, std::string_view reach) : reason_(reason), reach_(reach) {}

  std::string Text() const;

 private:
  int64_t Number(size_t at) const { return at < reason_.numbers.size() ? reason_.numbers[at] : 0; }
  uint64_t Count(size_t at) const {
    return static_cast<uint64_t>(std::max<int64_t>(Number(at), 0));
  }
  bool Is(size_t at) const { return Number(at) != 0; }
  std::string Counted(size_t at) const { return FormatCount(Count(at)); }
  std::string Time(size_t at = 0) const {
    return FormatDuration(at < reason_.times.size() ? reason_.times[at] : Duration());
  }
  bool HasTime() const { return !reason_.times.empty() && reason_.times[0].ns > 0; }
  std::string Name(size_t at = 0) const {
    return at < reason_.names.size() ? reason_.names[at] : std::string();
  }
  std::span<const int64_t> NumbersFrom(size_t first) const {
    return std::span(reason_.numbers).subspan(std::min(first, reason_.numbers.size()));
  }
  std::span<const std::string> NamesFrom(size_t first) const {
    return std::span(reason_.names).subspan(std::min(first, reason_.names.size()));
  }
  std::string Run(Advice advice) const { return TextOf(advice, reach_); }

  // "n1, n2, ..."
  std::string Nodes(size_t first, bool more) const;
  // "jobs 1, 7"
  std::string Jobs(size_t first) const;

  std::string Held() const;
  std::string After() const;
  std::string Parents() const;
  std::string Order() const;
  std::string Turn() const;
  std::string UserOrGroup() const;
  std::string Nowhere() const;
  std::string NodesTakeNone() const;
  std::string Misfit() const;
  std::string PoolMisfit() const;
  std::string Process(std::span<const int64_t> counts) const;
  std::string GangTooLarge() const;
  std::string Gang() const;
  std::string OtherGang() const;
  std::string Kept() const;
  std::string Pool() const;

  const Reason& reason_;
  std::string_view reach_;
};

std::string Clause::Nodes(size_t first, bool more) const {
  if (NamesFrom(first).empty()) return "disconnected nodes";
  return fmt::format("{}{}", fmt::join(NamesFrom(first), ", "), more ? ", ..." : "");
}

std::string Clause::Jobs(size_t first) const {
  auto jobs = NumbersFrom(first);
  return fmt::format("job{} {}", jobs.size() == 1 ? "" : "s", fmt::join(jobs, ", "));
}

// ---- Before its turn ---------------------------------------------------------------------------

std::string Clause::Held() const {
  const int64_t job = Number(0);
  const std::string release = Run(Advice("job release", job));
  switch (static_cast<HoldReason>(Number(1))) {
    case HoldReason::kHaltRule:
      return fmt::format("job {} is held by --halt; to release it: {}", job, release);
    case HoldReason::kMaxFailures:
      return fmt::format(
          "job {} is held by --max-failures; to retry the failed tasks and continue: {}", job,
          Run(Advice("job retry", job)));
    case HoldReason::kAllFail:
      return fmt::format(
          "job {} is held because too many tasks failed in a row; check them ({}), then release "
          "the "
          "job: {}",
          job, Run(Advice("job info", job)), release);
    case HoldReason::kDamaged:
      return fmt::format("job {} is held because part of it is damaged; for details: {}", job,
                         Run(Advice("job info", job)));
    case HoldReason::kResults:
      return fmt::format(
          "job {} starts no more tasks until its program has taken the results that wait; it "
          "continues by itself",
          job);
    case HoldReason::kUser:
    case HoldReason::kNone:
      break;
  }
  return fmt::format("job {} is held; to release it: {}", job, release);
}

std::string Clause::After() const {
  switch (static_cast<AfterKind>(Number(1))) {
    case AfterKind::kOk:
      return fmt::format("it waits for job {} to succeed", Number(0));
    case AfterKind::kAny:
      break;
    case AfterKind::kFail:
      return fmt::format("it waits for job {} to end with a failed task", Number(0));
    case AfterKind::kEach:
      return fmt::format("it waits for task {} of job {} to succeed", Number(2), Number(0));
  }
  return fmt::format("it waits for job {} to end", Number(0));
}

std::string Clause::Parents() const {
  std::vector<std::string> tasks;
  for (const int64_t number : NumbersFrom(3)) {
    const std::string name = Name(tasks.size());
    tasks.push_back(name.empty() ? fmt::format("{}", number) : name);
  }
  return fmt::format("it waits for {} of {}: {} {}{}", Number(0), Plural(Count(1), "parent"),
                     Number(0) == 1 ? "task" : "tasks", fmt::join(tasks, ", "),
                     Is(2) ? ", ..." : "");
}

std::string Clause::UserOrGroup() const {
  return fmt::format("{} {}", IsGroup(Name()) ? "group" : "user", Name());
}

std::string Clause::Turn() const {
  switch (reason_.kind) {
    case ReasonKind::kElsewhere:
      return fmt::format("it failed on {}, and is tried on another node first", Name());
    case ReasonKind::kNextTry:
      return fmt::format("it waits {} before its next try", Time());
    case ReasonKind::kJobLimit:
      return fmt::format("its job may run {} at once, and does", Plural(Count(0), "task"));
    case ReasonKind::kUserLimit:
      return fmt::format("{} may run {} at once, and does", UserOrGroup(),
                         Plural(Count(0), "task"));
    case ReasonKind::kPriority:
      return fmt::format("job {} of the same user goes first, by its priority of {}", Number(0),
                         Number(1));
    case ReasonKind::kFairShare:
      return fmt::format(
          "{} of other users run before it, and {} of its {}; it starts when its {} share allows "
          "it",
          Plural(Count(0), "task"), Counted(1), reason_.names.empty() ? "user" : UserOrGroup(),
          reason_.names.empty() ? "user's" : "group's");
    case ReasonKind::kSuspectNode:
      return fmt::format(
          "{} of its job failed on {} in a row, so that node gets one of the job's tasks at a "
          "time{}, and no other node has room",
          Plural(Count(0), "task"), Name(),
          HasTime() ? fmt::format(", the next in {}", Time()) : "");
    case ReasonKind::kLeftRunning:
      return fmt::format(
          "its command has ended but left running: {} on node {}; the task waits for that (see "
          "--leftovers)",
          Name(0), Name(1));
    case ReasonKind::kQueueIsFull:
      return fmt::format(
          "{} may have {} tasks that have not ended, and this would make it {}: wait for some "
          "of them to end, or cancel a job",
          UserOrGroup(), Counted(0), Counted(1));
    case ReasonKind::kDeadlinePassed:
      return fmt::format("the deadline (--deadline) passed {} ago", Time());
    case ReasonKind::kDeadlineTooSoon:
      return fmt::format("the deadline (--deadline) is in {}, but a task needs {} (--time)",
                         Time(0), Time(1));
    case ReasonKind::kNothingStored:
      return fmt::format(
          "the hub cannot store anything at the moment, and nothing goes on before it can: its "
          "disk may be slow, or another program has its database locked (see: {})",
          Run(Advice("hub status")));
    case ReasonKind::kRunning:
      return fmt::format("it has been running on node {} for {}", Name(), Time());
    case ReasonKind::kGiven:
      return fmt::format("it was given to {}, which has not reported yet that it runs",
                         reason_.names.empty() ? "a node" : "node " + Name());
    case ReasonKind::kUserLookedUp:
      return fmt::format(
          "node {} waits for its name service to find the account of user {}; to see how long "
          "that takes, run there: getent passwd {}",
          Name(), Name(1), ShellQuote(Name(1)));
    case ReasonKind::kFilesOnWay:
      return fmt::format("files of its job are on their way to node {}", Name());
    case ReasonKind::kSilentNodes:
      return fmt::format(
          "{} running on {}, of which nothing is heard; what runs there starts again elsewhere "
          "if that lasts for {} more",
          Count(0) == 1 ? "it is" : fmt::format("its {} are", Plural(Count(0), "task")),
          Nodes(0, Is(1)), Time());
    case ReasonKind::kOthersAhead:
      return "other tasks are ahead of it; it starts when a slot is free";
    default:
      return kNewer;
  }
}

std::string Clause::Order() const {
  switch (reason_.kind) {
    case ReasonKind::kNext:
      return "; ";
    case ReasonKind::kNoSuchTask:
      return "no such task";
    case ReasonKind::kHeld:
      return Held();
    case ReasonKind::kAfterJob:
      return After();
    case ReasonKind::kAfterHeld:
      return fmt::format("it waits for job {}, and ", Number(0));
    case ReasonKind::kAfterStuck:
      return fmt::format("it waits for job {}, which cannot continue: ", Number(0));
    case ReasonKind::kOpen:
      return fmt::format(
          "job {} is open: its tasks have ended, and it waits for more ({}); if there are no more, "
          "close it: {}",
          Number(0), Run(Advice("job add", Number(0))), Run(Advice("job close", Number(0))));
    case ReasonKind::kParents:
      return Parents();
    case ReasonKind::kCircle:
      return fmt::format("its {} wait for one another, in a circle: cancel it ({})",
                         Plural(Count(0), "task"), Run(Advice("job cancel", Number(1))));
    default:
      return kNewer;
  }
}

// ---- No node can run it ------------------------------------------------------------------------

std::string Clause::NodesTakeNone() const {
  std::string text = "the only nodes that can run it accept no tasks: ";
  for (size_t i = 0; i < reason_.names.size(); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", Name(i), Is(i) ? "drained" : "silent");
  }
  return text;
}

std::string Clause::Nowhere() const {
  switch (reason_.kind) {
    case ReasonKind::kNoNodeFits:
      return "no node fits: it ";
    case ReasonKind::kNodesTakeNone:
      return NodesTakeNone();
    case ReasonKind::kNoSetOfNodes:
      return "no set of nodes has room for it: it ";
    case ReasonKind::kAskForLess:
      return fmt::format("; request less, or start more nodes first ({})",
                         Run(Advice("node start")));
    case ReasonKind::kSomeCannotRun:
      return fmt::format("{} of its tasks cannot run: ", Counted(0));
    case ReasonKind::kWasCutOff:
      return fmt::format("; it was cut off {} times because its nodes ended, after at most {}",
                         Number(0), Time());
    case ReasonKind::kTooFewNodes:
      return fmt::format("it needs {} with room for {} each, and {} there",
                         Plural(Count(0), "node"),
                         Count(1) == 1 ? "1 process" : Counted(1) + " processes",
                         Count(2) == 1 ? "1 is" : Counted(2) + " are");
    case ReasonKind::kTooFewPlaces:
      return fmt::format("it needs room for {} processes at once, but the connected nodes have {}",
                         Counted(0), Counted(1));
    case ReasonKind::kNodesAway:
      return fmt::format(
          "no node is connected: {} {} away, and {} back without help while {} running; to start "
          "another: {}",
          Nodes(0, Is(1)), Count(0) == 1 ? "is" : "are", Count(0) == 1 ? "comes" : "come",
          Count(0) == 1 ? "it is" : "they are", Run(Advice("node start")));
    case ReasonKind::kNoNodeJoined:
      return fmt::format("no node has joined: start one with `{}`", Run(Advice("node start")));
    default:
      return kNewer;
  }
}

// ---- Misfits -----------------------------------------------------------------------------------

std::string Clause::Misfit() const {
  switch (reason_.kind) {
    case ReasonKind::kOnOtherNode:
      return fmt::format("is to run on node {} alone, and this is {}", Name(0), Name(1));
    case ReasonKind::kNotOnNode:
      return fmt::format("is not to run on node {}", Name());
    case ReasonKind::kLacksFeature:
      if (Name(0) == kPmixFeature) {
        return fmt::format("needs a node with the program spate-pmix; {} does not have it",
                           Name(1));
      }
      return fmt::format("needs a node whose spate knows '{}', that of {} is too old: update it",
                         Name(0), Name(1));
    case ReasonKind::kLacksLabel:
      return fmt::format("needs a node with label '{}'; {} does not have it", Name(0), Name(1));
    case ReasonKind::kTooManyCpus:
      return fmt::format("needs {:g} cpus, {} offers {:g}", Number(0) / 1000.0, Name(),
                         Number(1) / 1000.0);
    case ReasonKind::kTooMuchMemory:
      return fmt::format("needs {} of memory, {} offers {}", FormatSize(Count(0)), Name(),
                         FormatSize(Count(1)));
    case ReasonKind::kTooManyOf:
      return fmt::format("needs {} of '{}', {} offers {}", Number(0), Name(0), Name(1), Number(1));
    case ReasonKind::kMoreThanOffered:
      return fmt::format("needs more than {} offers", Name());
    case ReasonKind::kOtherUsersNode:
      return fmt::format("is of user {}, and {} runs tasks of user {} alone", Name(0), Name(1),
                         Name(2));
    case ReasonKind::kNodeEndsFirst:
      return fmt::format("needs {} (--time), but {} ends in {}", Time(0), Name(), Time(1));
    case ReasonKind::kGangProcess:
      return "is a gang, each process of which ";
    case ReasonKind::kGangTooLarge:
      return GangTooLarge();
    default:
      return PoolMisfit();
  }
}

std::string Clause::PoolMisfit() const {
  switch (reason_.kind) {
    case ReasonKind::kOnPilot:
      return fmt::format("is to run on node {} alone, which no new pilot is", Name());
    case ReasonKind::kPoolOfOther:
      return fmt::format("pool {} is {}'s", Name(0), Name(1));
    case ReasonKind::kPilotTooShort:
      return fmt::format("may run for {}, but a pilot of pool {} lasts only {}", Time(0), Name(),
                         Time(1));
    case ReasonKind::kPoolTooSmall:
      return fmt::format("is a gang that needs {} nodes, and pool {} has {} at most", Number(0),
                         Name(), Number(1));
    case ReasonKind::kDoesNotFit:
      return fmt::format("does not fit {}", Name());
    default:
      return kNewer;
  }
}

constexpr size_t kGangCounts = 8;  // where the numbers of its resources begin

std::string Clause::Process(std::span<const int64_t> counts) const {
  std::string text = fmt::format("{:g} cpu{}", Number(4) / 1000.0, Number(4) == 1000 ? "" : "s");
  if (Is(5)) text += fmt::format(", {} of memory", FormatSize(Count(5)));
  for (size_t i = 0; i < counts.size(); ++i) text += fmt::format(", {} {}", counts[i], Name(i));
  return text;
}

std::string Clause::GangTooLarge() const {
  auto numbers = NumbersFrom(kGangCounts);
  auto counts = numbers.first(std::min<size_t>(Count(7), numbers.size()));
  auto rooms = numbers.subspan(counts.size());
  std::string holds;
  for (size_t i = 0; i < rooms.size(); ++i) {
    holds += fmt::format("{}{} holds {}", i == 0 ? "" : ", ", Name(counts.size() + i), rooms[i]);
  }
  if (Is(6)) holds += ", ...";
  if (!Is(1)) {
    return fmt::format("is a gang of {} processes of {}, and all nodes together hold {}: {}",
                       Counted(0), Process(counts), Counted(2), holds);
  }
  return fmt::format(
      "is a gang of {} process{} of {} on each of {} node{}, and {} of {} hold{} so many: {}",
      Counted(0), Count(0) == 1 ? "" : "es", Process(counts), Counted(1), Count(1) == 1 ? "" : "s",
      Is(2) ? Counted(2) : "none", Number(3), Count(2) == 1 ? "s" : "", holds);
}

// ---- Gangs -------------------------------------------------------------------------------------

const char* PlaceOf(bool first) {
  return first ? "it is the first of the gangs that wait" : "it has a reservation";
}

std::string Clause::Gang() const {
  switch (reason_.kind) {
    case ReasonKind::kGangBefore:
      return fmt::format("task {}.{}{} goes before it, and {}", Number(0), Number(1),
                         Is(2) ? ", which is tried again," : "",
                         Is(3) ? "is the first of the gangs that wait" : "has a reservation");
    case ReasonKind::kGangPlace:
      return PlaceOf(Is(0));
    case ReasonKind::kGangNeeds:
      return fmt::format("; it needs {}, and {}", Nodes(0, Is(1)),
                         Is(0) ? "tasks there run much longer than estimated"
                               : "the end of tasks there is unknown, because they have no --time");
    case ReasonKind::kGangOwnJobs:
      return fmt::format(": {} of the same user; no node is kept for it meanwhile", Jobs(0));
    case ReasonKind::kGangLooks:
      return fmt::format("; {} {} for {}", Number(0) == 1 ? "it is" : "they are",
                         Is(1) ? "kept for it" : "others' to use", Time());
    case ReasonKind::kGangStarts:
      if (!HasTime()) return fmt::format("; it is about to start on {}", Nodes(0, Is(0)));
      return fmt::format("; it starts within {} on {} if running tasks keep to their estimates",
                         Time(), Nodes(0, Is(0)));
    case ReasonKind::kGangOverdue:
      return fmt::format("; it starts as soon as {} on {} end{}: {} {} longer than estimated{}",
                         Is(1) ? fmt::format("task {}.{}", Number(0), Number(1))
                               : fmt::format("tasks of job {}", Number(0)),
                         Name(), Is(1) ? "s" : "", Is(1) ? "it runs" : "they run", Time(),
                         Is(2) ? ", as other tasks on its nodes do" : "");
    case ReasonKind::kGangWasFirst:
      return fmt::format(
          "; it was first and {} start {}, but task {}.{} has a higher priority and goes before it",
          Is(2) ? "was to" : "would", Is(2) ? Time() + " ago" : "within " + Time(), Number(0),
          Number(1));
    case ReasonKind::kGangAfterOwn:
      return fmt::format(
          "; it waits for {} of the same user, and other users' tasks may start there until that "
          "ends",
          Jobs(0));
    case ReasonKind::kGangLater:
      return fmt::format("; last it became later, as {}", Name());
    case ReasonKind::kOtherGangFirst:
      return OtherGang();
    case ReasonKind::kKeptForGang:
      return Kept();
    case ReasonKind::kPartWaits:
      if (reason_.names.empty()) return "it starts as soon as its nodes are back";
      return fmt::format("it starts as soon as node {} has room for its part", Name());
    default:
      return kNewer;
  }
}

std::string Clause::OtherGang() const {
  std::string text = fmt::format("a gang of job {} is the first of those that wait", Number(0));
  const auto rule = static_cast<GangRule>(Number(1));
  if (rule == GangRule::kStartUnknown) {
    return text + "; this one goes before it where it finds room, as nobody knows when that starts";
  }
  text += fmt::format(", and is to have {}", Nodes(0, Is(2)));
  switch (rule) {
    case GangRule::kNobodyPasses:
      return text + ", and nobody overtakes it";
    case GangRule::kNoTime:
      return text + "; this one could go before it where it ends in time, but it has no --time";
    case GangRule::kStartUnknown:
    case GangRule::kInTime:
      break;
  }
  return text + "; this one goes before it where it does not make it later";
}

std::string Clause::Kept() const {
  std::string text = fmt::format("{} {} kept for task {}.{}, a gang of user {}", Nodes(1, Is(3)),
                                 Number(2) == 1 ? "is" : "are", Number(0), Number(1), Name(0));
  if (!Is(4)) return fmt::format("{}, for {} at most", text, Time());
  if (!HasTime()) return text + ", which starts as soon as late tasks there have ended";
  return fmt::format(
      "{}, which starts within {}; tasks whose --time ends before that may start there first", text,
      Time());
}

// ---- Pools -------------------------------------------------------------------------------------

std::string CountOfPilots(uint64_t count) {
  return count == 1 ? "1 pilot" : fmt::format("{} pilots", count);
}

std::string Clause::Pool() const {
  if (reason_.kind == ReasonKind::kPoolPaused) {
    return fmt::format("pool {} is paused: {} ({})", Name(0), Name(1),
                       Run(Advice("pool resume", Name(0))));
  }
  if (reason_.kind != ReasonKind::kPoolState) return kNewer;
  std::string text = fmt::format("pool {}", Name(0));
  if (!Is(1)) {
    text += Is(0) ? fmt::format(" has {}", CountOfPilots(Count(0))) : " has no pilot yet";
  } else {
    text += fmt::format(" has {} queued since {} UTC", CountOfPilots(Count(1)), Name(1));
    if (!Name(2).empty()) text += fmt::format(" (reason: {})", Name(2));
  }
  if (!Name(3).empty()) text += fmt::format("; {}", Name(3));
  if (!Name(4).empty()) text += fmt::format("; it does not answer: {}", Name(4));
  return text;
}

std::string Clause::Text() const {
  if (reason_.kind >= ReasonKind::kPoolPaused) return Pool();
  if (reason_.kind >= ReasonKind::kGangBefore) return Gang();
  if (reason_.kind >= ReasonKind::kOnOtherNode) return Misfit();
  if (reason_.kind >= ReasonKind::kNoNodeJoined) return Nowhere();
  if (reason_.kind >= ReasonKind::kElsewhere) return Turn();
  return Order();
}

}  // namespace

std::string TextOf(const Why& why, std::string_view reach) {
  std::string text;
  for (const Reason& reason : why) text += Clause(reason, reach).Text();
  return EscapeForScreen(text);  // names and words of users, programs and batch systems are in it
}

}  // namespace spate::present
