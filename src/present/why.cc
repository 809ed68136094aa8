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
#include "core/model/leftovers.h"
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
  std::string OnNode() const;
  std::string UserOrGroup() const;
  std::string Nowhere() const;
  std::string Troubles() const;
  std::string Silent() const;
  std::string Misfit() const;
  std::string PoolMisfit() const;
  std::string Process(std::span<const int64_t> counts) const;
  std::string GangTooLarge() const;
  std::string Gang() const;
  std::string OtherGang() const;
  std::string Kept() const;
  std::string Pool() const;
  std::string InLine() const;

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
      return fmt::format("the job has reached its limit of {} at once", Plural(Count(0), "task"));
    case ReasonKind::kUserLimit:
      return fmt::format("{} has reached the limit of {} at once", UserOrGroup(),
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
          "the hub cannot store anything at the moment, and nothing continues until it can: its "
          "disk may be slow, or another program has its database locked (see: {})",
          Run(Advice("hub status")));
    case ReasonKind::kOthersAhead:
      return "other tasks are ahead of it; it starts when a slot is free";
    default:
      return OnNode();
  }
}

// The clause for a task that a node has.
std::string Clause::OnNode() const {
  switch (reason_.kind) {
    case ReasonKind::kLeftRunning:
      if (Name(0).starts_with(kStillWaiting)) {
        return fmt::format("its command has not started on node {}: {}", Name(1), Name(0));
      }
      return fmt::format(
          "its command has ended but left processes running: {} on node {}; the task waits for "
          "them (see "
          "--leftovers)",
          Name(0), Name(1));
    case ReasonKind::kRunning:
      return fmt::format("it has been running on node {} for {}", Name(), Time());
    case ReasonKind::kGiven:
      return fmt::format("it is next on {}, which starts it as soon as it can",
                         reason_.names.empty() ? "a node" : "node " + Name());
    case ReasonKind::kUserLookedUp:
      return fmt::format(
          "node {} waits for its name service to find the account of user {}; to see how long "
          "that takes, run there: getent passwd {}",
          Name(), Name(1), ShellQuote(Name(1)));
    case ReasonKind::kOutputWaits:
      return fmt::format("node {} keeps its tasks' output until the hub's disk has room (see: {})",
                         Name(), Run(Advice("hub status")));
    case ReasonKind::kFilesOnWay:
      return fmt::format("files of its job are on their way to node {}", Name());
    case ReasonKind::kSilentNodes:
      return Silent();
    case ReasonKind::kCancelled:
      return fmt::format(
          "job {} was cancelled, and {} not ended yet: a task that ignores TERM gets KILL after "
          "its --kill-grace (default: 10s)",
          Number(0), Count(1) == 1 ? "1 task has" : Plural(Count(1), "task") + " have");
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

// "n1 (away for 2m), n2 (drained: its disk is full); to resume n2: spate node resume n2"
std::string Clause::Troubles() const {
  std::vector<std::string> nodes;
  Advice resume("node resume");
  for (size_t i = 0; i < reason_.numbers.size(); ++i) {
    const std::string note = Name(reason_.numbers.size() + i);
    const bool is_timed = i < reason_.times.size() && reason_.times[i].ns > 0;
    const auto trouble = static_cast<NodeTrouble>(Number(i));
    std::string text = is_timed ? "away for " + Time(i) : "silent";
    if (trouble == NodeTrouble::kDrained) {
      text = note.empty() ? "drained" : "drained: " + note;
      resume.args.push_back(Name(i));
    } else if (trouble == NodeTrouble::kFull) {
      text = "no room on its disk";
    } else if (trouble == NodeTrouble::kRefused) {
      text = fmt::format("refused: the hub does not support its spate version {}", note);
    }
    nodes.push_back(trouble == NodeTrouble::kMore ? "..." : fmt::format("{} ({})", Name(i), text));
  }
  std::string text = fmt::format("{}", fmt::join(nodes, ", "));
  if (resume.args.empty()) return text;
  return fmt::format("{}; to resume {}: {}", text, fmt::join(resume.args, ", "), Run(resume));
}

// In the order of SilentFate.
constexpr const char* kFates[] = {"tasks restart elsewhere", "tasks restart once the node is back",
                                  "tasks end as unknown (--once)",
                                  "cancelled tasks count as ended"};

std::string Clause::Silent() const {
  const std::string text =
      fmt::format("{} running on {}, ",
                  Count(0) == 1 ? "it is" : fmt::format("its {} are", Plural(Count(0), "task")),
                  Nodes(0, Is(1)));
  if (Count(2) >= std::size(kFates)) {
    return text +
           "which the hub refuses because it does not support that version of spate; tasks there "
           "are kept, and continue once the node has a supported version";
  }
  const bool is_one = NamesFrom(0).size() == 1 && !Is(1);
  return fmt::format("{}which {} silent for {} more, {} {}", text,
                     is_one ? "does not respond; if it stays" : "do not respond; if they stay",
                     Time(), is_one ? "its" : "their", kFates[Count(2)]);
}

std::string Clause::Nowhere() const {
  switch (reason_.kind) {
    case ReasonKind::kNoNodeFits:
      return "no node fits: it ";
    case ReasonKind::kNodesTakeNone:
      return "the only nodes that can run it accept no tasks: " + Troubles();
    case ReasonKind::kNodesMissing:
      return "; not available: " + Troubles();
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
          "no node is connected: {}; a running node reconnects automatically; to start another: {}",
          Troubles(), Run(Advice("node start")));
    case ReasonKind::kNoNodeJoined:
      return fmt::format("no node is connected, so nothing runs yet; start one: {}",
                         Run(Advice("node start", "--daemon")));
    default:
      return kNewer;
  }
}

// ---- Misfits -----------------------------------------------------------------------------------

std::string Clause::Misfit() const {
  switch (reason_.kind) {
    case ReasonKind::kOnOtherNode:
      return fmt::format("must run on node {}, which is not connected", Name(0));
    case ReasonKind::kNotOnNode:
      return fmt::format("must not run on node {}", Name());
    case ReasonKind::kLacksFeature:
      if (Name(0) == kPmixFeature) {
        return fmt::format("needs a node with the program spate-pmix; {} does not have it",
                           Name(1));
      }
      if (Name(0) == kBashFeature) {
        return fmt::format("needs a node with bash; {} does not have it", Name(1));
      }
      return fmt::format(
          "needs a node whose spate supports '{}', and that of {} is too old: update it", Name(0),
          Name(1));
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
      return fmt::format("belongs to user {}, but {} runs only tasks of user {}", Name(0), Name(1),
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
      return fmt::format("must run on node {}, which no new pilot will be", Name());
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
  return first ? "it is the first waiting gang" : "it has a reservation";
}

// Reasons why no node is kept for a gang.
constexpr const char* kWhyUnbound[] = {
    "the end of tasks there is unknown, because they have no --time",
    "tasks there run much longer than estimated",
    "none is kept, because tasks of its user ran too long on nodes kept for a gang before",
    "none is kept, because its user has used more than twice as much as the others",
    "none is kept, because its user's own node has not answered yet"};

std::string Clause::Gang() const {
  switch (reason_.kind) {
    case ReasonKind::kGangBefore:
      return fmt::format("task {}.{}{} goes before it, and {}", Number(0), Number(1),
                         Is(2) ? ", which is tried again," : "",
                         Is(3) ? "is the first waiting gang" : "has a reservation");
    case ReasonKind::kGangPlace:
      return PlaceOf(Is(0));
    case ReasonKind::kGangNeeds:
      return fmt::format("; it needs {}, and {}", Nodes(0, Is(1)),
                         kWhyUnbound[std::min<uint64_t>(Count(0), std::size(kWhyUnbound) - 1)]);
    case ReasonKind::kGangOwnJobs:
      return fmt::format(": {} of the same user; no node is kept for it meanwhile", Jobs(0));
    case ReasonKind::kGangLooks:
      if (!Is(1))
        return fmt::format("; others may use {} for {}", Number(0) == 1 ? "it" : "them", Time());
      return fmt::format("; {} kept for this gang for {}", Number(0) == 1 ? "it is" : "they are",
                         Time());
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
      return fmt::format("; it was last delayed because {}", Name());
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
  std::string text = fmt::format("a gang of job {} is the first waiting gang", Number(0));
  const auto rule = static_cast<GangRule>(Number(1));
  if (rule == GangRule::kStartUnknown) {
    return text + "; this task may start before it, because that start time is unknown";
  }
  text += fmt::format(" and is to get {}", Nodes(0, Is(2)));
  switch (rule) {
    case GangRule::kNobodyPasses:
      return text + ", and nothing starts before it";
    case GangRule::kNoTime:
      return text + "; this task could start before it if it ended in time, but it has no --time";
    case GangRule::kStartUnknown:
    case GangRule::kInTime:
      break;
  }
  return text + "; this task may start before it if it does not delay it";
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

std::string Clause::Pool() const {
  if (reason_.kind == ReasonKind::kPoolPaused) {
    return fmt::format("pool {} is paused: {} ({})", Name(0), Name(1),
                       Run(Advice("pool resume", Name(0))));
  }
  if (reason_.kind == ReasonKind::kPoolGone) {
    return fmt::format("pool {} was removed; to add it again: {}", Name(0),
                       Run(Advice("pool add", "SYSTEM", Name(0))));
  }
  if (reason_.kind != ReasonKind::kPoolState) return kNewer;
  std::string text = fmt::format("pool {}", Name(0));
  // The trouble that keeps its pilots away stands first: a bar cuts the rest off.
  if (!Name(4).empty())
    text += fmt::format(" gets no answer from its batch system: {}; it", Name(4));
  if (Is(1)) {
    text += fmt::format(" has {} queued since {} UTC", Plural(Count(1), "pilot"), Name(1));
    if (!Name(2).empty()) text += fmt::format(" (reason: {})", Name(2));
  } else if (Is(2)) {
    text += fmt::format(" has {} to submit", Plural(Count(2), "pilot"));
  } else {
    text += Is(0) ? fmt::format(" has {}", Plural(Count(0), "pilot")) : " has no pilot yet";
  }
  if (!Name(3).empty()) text += fmt::format("; {}", Name(3));
  return text;
}

// ---- On its node -------------------------------------------------------------------------------

std::string Clause::InLine() const {
  const std::string next = "it is next on node " + Name();
  switch (reason_.kind) {
    case ReasonKind::kSlotsTaken:
      return fmt::format("{}, which starts it when {} ends", next,
                         Number(0) == 1 ? fmt::format("task {}.{}", Number(1), Number(2))
                                        : fmt::format("one of the {} tasks there", Number(0)));
    case ReasonKind::kSlotKept:
      if (Name(1).starts_with(kStillWaiting)) {
        return fmt::format("{}, where the command of task {}.{} has not started: {}", next,
                           Number(0), Number(1), Name(1));
      }
      return fmt::format(
          "{}, where the command of task {}.{} has ended but left running: {} (see --leftovers)",
          next, Number(0), Number(1), Name(1));
    case ReasonKind::kNodeLacks: {
      auto amount = [&](size_t at) {
        if (Name(1) == "memory") return FormatSize(Count(at));
        return fmt::format("{:g}", Number(at) / (Name(1) == "cpus" ? 1000.0 : 1.0));
      };
      return fmt::format("{}, but it needs {} of '{}', and {} of it is free there", next, amount(0),
                         Name(1), amount(1));
    }
    case ReasonKind::kStartsPaused:
      return fmt::format("{}, which starts no tasks at the moment: {}", next, Name(1));
    case ReasonKind::kStartDelay:
      return fmt::format("{}, which starts a task of its job every {} (--delay)", next, Time());
    case ReasonKind::kLineOfNode:
      return next + ", where other tasks are ahead of it";
    default:
      return kNewer;
  }
}

std::string Clause::Text() const {
  if (reason_.kind >= ReasonKind::kSlotsTaken) return InLine();
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
