#include "present/reasons.h"

#include <algorithm>

#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/leftovers.h"

namespace spate::present {
namespace {

using enum ReasonKind;

// Names of the model that templates compare with.
static_assert(kStillWaiting.starts_with("still waiting "));
static_assert(kPmixFeature == std::string_view("pmix"));
static_assert(kBashFeature == std::string_view("bash"));

constexpr ReasonRow kReasons[] = {
    {kNext, "next", "", "; "},
    {kNoSuchTask, "no-such-task", "", "no such task"},

    // ---- Before its turn
    {kHeld, "held", "job hold",
     "{*hold|{&held}|{&held}"
     "|job {job} is held by --halt; to release it: {!job release job}"
     "|job {job} is held by --max-failures; to retry the failed tasks and continue: {!job retry "
     "job}"
     "|job {job} is held because too many tasks failed in a row; check them ({!job info job}), "
     "then "
     "release the job: {!job release job}"
     "|job {job} is held because part of it is damaged; for details: {!job info job}"
     "|job {job} starts no more tasks until its program has taken the results that wait; it "
     "continues by itself|{&held}}"},
    {kAfterJob, "after-job", "job after task",
     "it waits for {*after|job {job} to succeed|job {job} to end|job {job} to end with a failed "
     "task"
     "|task {task} of job {job} to succeed|job {job} to end}"},
    {kAfterHeld, "after-held", "job", "it waits for job {job}, and "},
    {kParents, "parents", "unfinished parents more tasks...;; names...",
     "it waits for {unfinished} of {parents:a parent}: {=unfinished|task|tasks} {%parents}"
     "{*more||, ...}"},
    {kCircle, "circle", "tasks job",
     "its {tasks:a task} wait for one another, in a circle: cancel it ({!job cancel job})"},
    {kOpen, "open", "job",
     "job {job} is open: its tasks have ended, and it waits for more ({!job add job}); if there "
     "are "
     "no more, close it: {!job close job}"},
    {kAfterStuck, "after-stuck", "job", "it waits for job {job}, which cannot continue: "},
    {kElsewhere, "elsewhere", ";; node", "it failed on {node}, and is tried on another node first"},
    {kNextTry, "next-try", "; until", "it waits {until} before its next try"},
    {kJobLimit, "job-limit", "limit", "the job has reached its limit of {limit:a task} at once"},
    {kUserLimit, "user-limit", "limit;; user",
     "{user:owner} has reached the limit of {limit:a task} at once"},
    {kPriority, "priority", "job priority",
     "job {job} of the same user goes first, by its priority of {priority}"},
    {kFairShare, "fair-share", "others own;; group...",
     "{others:a task} of other users run before it, and {own:count} of its {*group|user|"
     "{group:owner}}; it starts when its {*group|user|group}'s share allows it"},
    {kOthersAhead, "others-ahead", "",
     "other tasks are ahead of it; it starts when a slot is free"},
    {kSuspectNode, "suspect-node", "failures; next; node",
     "{failures:a task} of its job failed on {node} in a row, so that node gets one of the job's "
     "tasks at a time{*next||, the next in {next}}, and no other node has room"},
    {kLeftRunning, "left-running", ";; processes node",
     "its command has {@processes|still waiting *|not started on node {node}: {processes}"
     "|ended but left processes running: {processes} on node {node}; the task waits for them (see "
     "--leftovers)}"},
    {kQueueIsFull, "queue-is-full", "limit tasks;; user",
     "{user:owner} may have {limit:count} tasks that have not ended, and this would make it "
     "{tasks:count}: wait for some of them to end, or cancel a job"},
    {kDeadlinePassed, "deadline-passed", "; since", "the deadline (--deadline) passed {since} ago"},
    {kDeadlineTooSoon, "deadline-too-soon", "; until needed",
     "the deadline (--deadline) is in {until}, but a task needs {needed} (--time)"},
    {kNothingStored, "nothing-stored", "",
     "the hub cannot store anything at the moment, and nothing continues until it can: its disk "
     "may "
     "be slow, or another program has its database locked (see: {!hub status})"},
    {kSilentNodes, "silent-nodes", "tasks more fate ids...; left; nodes...",
     "{=tasks|it is|its {tasks:a task} are} running on {nodes:nodes}, {*fate|{&silent}|{&silent}"
     "|{&silent}|{&silent}|which the hub refuses because it does not support that version of "
     "spate; "
     "tasks there are kept, and continue once the node has a supported version}"},
    {kRunning, "running", "; since; node", "it has been running on node {node} for {since}"},
    {kGiven, "given", ";; node...",
     "it is next on {*node|a node|node {node}}, which starts it as soon as it can"},
    {kUserLookedUp, "user-looked-up", ";; node user",
     "node {node} waits for its name service to find the account of user {user}; to see how long "
     "that takes, run there: getent passwd {user:quoted}"},
    {kFilesOnWay, "files-on-way", ";; node", "files of its job are on their way to node {node}"},
    {kCancelled, "cancelled", "job tasks",
     "job {job} was cancelled, and {tasks:a task} {=tasks|has|have} not ended yet: a task that "
     "ignores TERM gets KILL after its --kill-grace (default: 10s)"},
    {kOutputWaits, "output-waits", ";; node",
     "node {node} keeps its tasks' output until the hub's disk has room (see: {!hub status})"},

    // ---- No node can run it
    {kNoNodeJoined, "no-node-joined", "",
     "no node is connected, so nothing runs yet; start one: {!node start --daemon}"},
    {kNoNodeFits, "no-node-fits", "", "no node fits: it "},
    {kNodesTakeNone, "nodes-take-none", "troubles...; away...; nodes...",
     "the only nodes that can run it accept no tasks: {%troubles}"},
    {kNoSetOfNodes, "no-set-of-nodes", "", "no set of nodes has room for it: it "},
    {kAskForLess, "ask-for-less", "", "; request less, or start more nodes first ({!node start})"},
    {kSomeCannotRun, "some-cannot-run", "tasks", "{tasks:count} of its tasks cannot run: "},
    {kWasCutOff, "was-cut-off", "times; longest",
     "; it was cut off {times} times because its nodes ended, after at most {longest}"},
    {kTooFewNodes, "too-few-nodes", "nodes processes fit",
     "it needs {nodes:a node} with room for {=processes|1 process|{processes:count} processes} "
     "each, "
     "and {=fit|1 is|{fit:count} are} there"},
    {kTooFewPlaces, "too-few-places", "processes room",
     "it needs room for {processes:count} processes at once, but the connected nodes have "
     "{room:count}"},
    {kNodesAway, "nodes-away", "troubles...; away...; nodes...",
     "no node is connected: {%troubles}; a running node reconnects automatically; to start "
     "another: "
     "{!node start}"},
    {kNodesMissing, "nodes-missing", "troubles...; away...; nodes...",
     "; not available: {%troubles}"},

    {kStopped, "stopped", "job task freezing; since; user...",
     "{*task|job {job}|task {job}.{task}} was stopped {since} ago{*user|| by {user}}"
     "{*freezing||; its node has not confirmed that it is frozen|, and is frozen}; to continue: "
     "{!job cont job}{*task||.{task}}"},
    {kRoomFrozen, "room-frozen", "job; since; user node",
     "node {node} is kept by tasks of job {job} of user {user}, which was stopped {since} ago"},
    // ---- Misfits
    {kOnOtherNode, "on-other-node", ";; wanted node",
     "must run on node {wanted}, which is not connected"},
    {kNotOnNode, "not-on-node", ";; node", "must not run on node {node}"},
    {kLacksFeature, "lacks-feature", ";; feature node",
     "needs a node {@feature|pmix|with the program spate-pmix; {node} does not have it"
     "|bash|with bash; {node} does not have it"
     "|whose spate supports '{feature}', and that of {node} is too old: update it}"},
    {kLacksLabel, "lacks-label", ";; label node",
     "needs a node with label '{label}'; {node} does not have it"},
    {kTooManyCpus, "too-many-cpus", "needed offered;; node",
     "needs {needed:cpus} cpus, {node} offers {offered:cpus}"},
    {kTooMuchMemory, "too-much-memory", "needed offered;; node",
     "needs {needed:size} of memory, {node} offers {offered:size}"},
    {kTooManyOf, "too-many-of", "needed offered;; resource node",
     "needs {needed} of '{resource}', {node} offers {offered}"},
    {kMoreThanOffered, "more-than-offered", ";; node", "needs more than {node} offers"},
    {kOtherUsersNode, "other-users-node", ";; user node of",
     "belongs to user {user}, but {node} runs only tasks of user {of}"},
    {kNodeEndsFirst, "node-ends-first", "; planned left; node",
     "needs {planned} (--time), but {node} ends in {left}"},
    {kOnPilot, "on-pilot", ";; node", "must run on node {node}, which no new pilot will be"},
    {kDoesNotFit, "does-not-fit", ";; node", "does not fit {node}"},
    {kPoolOfOther, "pool-of-other", ";; pool user", "pool {pool} is {user}'s"},
    {kPilotTooShort, "pilot-too-short", "; planned longest; pool",
     "may run for {planned}, but a pilot of pool {pool} lasts only {longest}"},
    {kPoolTooSmall, "pool-too-small", "needed most;; pool",
     "is a gang that needs {needed} nodes, and pool {pool} has {most} at most"},
    {kGangProcess, "gang-process", "", "is a gang, each process of which "},
    {kGangTooLarge, "gang-too-large",
     "processes nodes fit all cpus memory more resources counts...;; names...",
     "is a gang of {processes:count} {*nodes|processes of {%process}, and all nodes together hold "
     "{fit:count}|{=processes|process|processes} of {%process} on each of {nodes:a node}, and "
     "{*fit|none|{fit:count}} of {all} {=fit|holds|hold} so many}: {%holds}"},

    // ---- Gangs
    {kGangBefore, "gang-before", "job task again first",
     "task {job}.{task}{*again||, which is tried again,} goes before it, and {*first|has a "
     "reservation|is the first waiting gang}"},
    {kGangPlace, "gang-place", "first", "it {*first|has a reservation|is the first waiting gang}"},
    {kGangNeeds, "gang-needs", "why more;; nodes...",
     "; it needs {nodes:nodes}, and {*why"
     "|the end of tasks there is unknown, because they have no --time"
     "|tasks there run much longer than estimated"
     "|none is kept, because tasks of its user ran too long on nodes kept for a gang before"
     "|none is kept, because its user has used more than twice as much as the others"
     "|none is kept, because its user's own node has not answered yet}"},
    {kGangOwnJobs, "gang-own-jobs", "jobs...",
     ": {=jobs|job|jobs} {jobs} of the same user; no node is kept for it meanwhile"},
    {kGangLooks, "gang-looks", "nodes kept; left",
     "; {*kept|others may use {=nodes|it|them}|{=nodes|it is|they are} kept for this gang} for "
     "{left}"},
    {kGangStarts, "gang-starts", "more; left; nodes...",
     "; it {*left|is about to start on {nodes:nodes}|starts within {left} on {nodes:nodes} if "
     "running tasks keep to their estimates}"},
    {kGangAfterOwn, "gang-after-own", "jobs...",
     "; it waits for {=jobs|job|jobs} {jobs} of the same user, and other users' tasks may start "
     "there until that ends"},
    {kGangLater, "gang-later", ";; why", "; it was last delayed because {why}"},
    {kOtherGangFirst, "other-gang-first", "job rule more;; nodes...",
     "a gang of job {job} is the first waiting gang{*rule|; this task may start before it, because "
     "that start time is unknown"
     "| and is to get {nodes:nodes}, and nothing starts before it"
     "| and is to get {nodes:nodes}; this task could start before it if it ended in time, but it "
     "has no --time"
     "| and is to get {nodes:nodes}; this task may start before it if it does not delay it}"},
    {kPartWaits, "part-waits", ";; node...",
     "it starts as soon as {*node|its nodes are back|node {node} has room for its part}"},
    {kKeptForGang, "kept-for-gang", "job task count more known; left; user nodes...",
     "{nodes:nodes} {=count|is|are} kept for task {job}.{task}, a gang of user {user}, {*known"
     "|for {left} at most|{*left|which starts as soon as late tasks there have ended|which starts "
     "within {left}; tasks whose --time ends before that may start there first}}"},
    {kGangOverdue, "gang-overdue", "job task others; late; node",
     "; it starts as soon as {*task|tasks of job {job}|task {job}.{task}} on {node} "
     "{*task|end: they run|ends: it runs} {late} longer than estimated"
     "{*others||, as other tasks on its nodes do}"},
    {kGangWasFirst, "gang-was-first", "job task past; time",
     "; it was first and {*past|would start within {time}|was to start {time} ago}, but task "
     "{job}.{task} has a higher priority and goes before it"},

    // ---- Pools
    {kPoolPaused, "pool-paused", ";; pool why",
     "pool {pool} is paused: {why} ({!pool resume pool})"},
    // The trouble that keeps its pilots away stands first: a bar cuts the rest off.
    {kPoolState, "pool-state", "joined queued unsent;; pool since why words trouble",
     "pool {pool}{@trouble||| gets no answer from its batch system: {trouble}; it} has "
     "{*queued|{*unsent|{*joined|no pilot yet|{joined:a pilot}}|{unsent:a pilot} to submit}"
     "|{queued:a pilot} queued since {since} UTC{@why||| (reason: {why})}}{@words|||; {words}}"},
    {kPoolGone, "pool-gone", ";; pool",
     "pool {pool} was removed; to add it again: {!pool add SYSTEM pool}"},

    // ---- On its node
    {kSlotsTaken, "slots-taken", "slots job task;; node",
     "it is next on node {node}, which starts it when {=slots|task {job}.{task}|one of the {slots} "
     "tasks there} ends"},
    {kSlotKept, "slot-kept", "job task;; node processes",
     "it is next on node {node}, where the command of task {job}.{task} has "
     "{@processes|still waiting *|not started: {processes}"
     "|ended but left running: {processes} (see --leftovers)}"},
    {kNodeLacks, "node-lacks", "needed free;; node resource",
     "it is next on node {node}, but it needs "
     "{@resource|memory|{needed:size}|cpus|{needed:cpus}|{needed:amount}} of '{resource}', and "
     "{@resource|memory|{free:size}|cpus|{free:cpus}|{free:amount}} of it is free there"},
    {kStartsPaused, "starts-paused", ";; node why",
     "it is next on node {node}, which starts no tasks at the moment: {why}"},
    {kStartDelay, "start-delay", "; delay; node",
     "it is next on node {node}, which starts a task of its job every {delay} (--delay)"},
    {kLineOfNode, "line-of-node", ";; node",
     "it is next on node {node}, where other tasks are ahead of it"},
};
static_assert(std::ranges::is_sorted(kReasons, {}, &ReasonRow::kind));

constexpr std::pair<std::string_view, std::string_view> kParts[] = {
    {"held", "job {job} is held; to release it: {!job release job}"},
    {"silent",
     "which {*more|{=nodes|{&one}|{&they}}|{&they}} {*fate|tasks restart elsewhere"
     "|tasks restart once the node is back|tasks end as unknown (--once)"
     "|cancelled tasks count as ended}"},
    {"one", "does not respond; if it stays silent for {left} more, its"},
    {"they", "do not respond; if they stay silent for {left} more, their"},
};

}  // namespace

std::span<const ReasonRow> Reasons() { return kReasons; }

const ReasonRow* FindReason(ReasonKind kind) {
  auto row = std::ranges::lower_bound(kReasons, kind, {}, &ReasonRow::kind);
  return row != std::end(kReasons) && row->kind == kind ? row : nullptr;
}

std::vector<ReasonArgument> ArgumentsOf(const ReasonRow& row) {
  std::vector<ReasonArgument> arguments;
  int sort = 0;
  size_t at = 0;
  for (std::string_view rest = row.arguments; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of("; "), rest.size());
    std::string_view name = rest.substr(0, end);
    const bool is_list = name.ends_with("...");
    if (is_list) name.remove_suffix(3);
    if (!name.empty()) {
      arguments.push_back({name, static_cast<ReasonArgument::Sort>(sort), at++, is_list});
    }
    if (end < rest.size() && rest[end] == ';') ++sort, at = 0;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return arguments;
}

std::span<const std::pair<std::string_view, std::string_view>> ReasonParts() { return kParts; }

}  // namespace spate::present
