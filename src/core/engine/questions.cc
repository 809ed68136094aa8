// What people may ask, and what tests ask.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/units.h"
#include "core/engine/engine_state.h"
#include "core/engine/place/place.h"

namespace spate::engine {

std::optional<JobCounts> Engine::Counts(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) return std::nullopt;
  return job->counts();
}

std::optional<TaskState> Engine::StateOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || index >= job->task_count()) return std::nullopt;
  return job->StateOf(index);
}

uint32_t Engine::TaskCount(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? 0 : job->task_count();
}

bool Engine::LeftList(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  return job != nullptr && index < job->task_count() && job->LeftList(index);
}

bool Engine::Holds(NodeId id, const AttemptRef& ref) const {
  const JobState* job = state_->durable().FindJob(ref.job);
  return job != nullptr && IsCurrent(state_->durable().NodeOf(id), *job, ref);
}

uint32_t Engine::Leased(NodeId id) const {
  auto node = state_->live.board.nodes.find(id);
  return node == state_->live.board.nodes.end() ? 0 : node->second.leased;
}

uint64_t Engine::EndedOn(NodeId id) const {
  auto node = state_->live.board.nodes.find(id);
  return node == state_->live.board.nodes.end() ? 0 : node->second.ended;
}

HoldReason Engine::Held(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? HoldReason::kNone : job->held();
}

std::optional<JobPolicy> Engine::Policy(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::nullopt : std::optional(job->policy());
}

std::vector<TaskClass> Engine::Requests(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::vector<TaskClass>{} : job->requests();
}

std::optional<TaskClass> Engine::NewestRequest(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->requests().empty()) return std::nullopt;
  return job->requests().back();
}

std::vector<Edge> Engine::Edges(JobId id) const {
  std::vector<Edge> edges;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->graph().empty()) return edges;
  edges.reserve(job->graph().edge_count());
  for (TaskIndex i = 0; i < job->task_count(); ++i) {
    job->graph().ForChildren(i, [&](TaskIndex child) { edges.push_back({i, child}); });
  }
  return edges;
}

std::vector<TaskRange> Engine::Unended(JobId id) const {
  std::vector<TaskRange> ranges;
  const JobState* job = state_->durable().FindJob(id);
  for (TaskIndex i = 0; job != nullptr && i < job->task_count(); ++i) {
    TaskState state = job->StateOf(i);
    if (state == TaskState::kQueued || state == TaskState::kLeased) AppendIndex(ranges, i);
  }
  return ranges;
}

std::vector<JobTrouble> Engine::Troubles(JobId id) const {
  std::vector<JobTrouble> troubles;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) {
    // It has ended and left memory: of nodes that were set aside for it so much is remembered.
    for (const auto& [node, known] : state_->live.board.nodes) {
      if (known.set_aside.contains(id)) troubles.push_back({node, kLimits.node_failures, true});
    }
    return troubles;
  }
  for (const auto& [node, trouble] : job->troubles()) {
    troubles.push_back({node, trouble.failures, job->Avoids(node)});
  }
  return troubles;
}

uint32_t Engine::FailuresInRow(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? 0 : job->failures_in_row();
}

bool Engine::Finished(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job != nullptr && job->finished();
}

namespace {

std::string Plural(uint64_t count, const char* what) {
  return fmt::format("{} {}{}", FormatCount(count), what, count == 1 ? "" : "s");
}

std::string WhyHeld(const JobState& job) {
  uint32_t id = job.id().value;
  switch (job.held()) {
    case HoldReason::kUser:
      return fmt::format("job {0} is held; spate job release {0} lets it go on", id);
    case HoldReason::kHaltRule:
      return fmt::format("job {0} is held by --halt; spate job release {0} lets it go on", id);
    case HoldReason::kMaxFailures:
      return fmt::format(
          "job {0} is held by --max-failures; spate job retry {0} runs again what failed, and lets "
          "it go on",
          id);
    case HoldReason::kAllFail:
      return fmt::format(
          "job {0} is held since its tasks failed one after the other; look at "
          "them (spate job info {0}), then spate job release {0} lets it go on",
          id);
    case HoldReason::kDamaged:
      return fmt::format(
          "job {0} is held since some of it is damaged; spate job info {0} tells more", id);
    case HoldReason::kNone:
      break;
  }
  return "";
}

std::string WhyAfter(const JobState& job, TaskIndex index) {
  for (const After& after : job.after()) {
    uint32_t other = after.job.value;
    switch (after.kind) {
      case AfterKind::kOk:
        return fmt::format("it waits for job {} to succeed", other);
      case AfterKind::kAny:
        return fmt::format("it waits for job {} to end", other);
      case AfterKind::kFail:
        return fmt::format("it waits for job {} to end with a failed task", other);
      case AfterKind::kEach:
        if (!job.Blocked(index)) break;
        return fmt::format("it waits for task {} of job {} to succeed", index + 1, other);
    }
  }
  return "";
}

// Cost: the job's edges.
std::string WhyParents(const JobState& job, TaskIndex index) {
  constexpr size_t kNamed = 5;
  const uint32_t left = job.graph().Left(index);
  if (left == 0) return "";
  uint32_t parents = 0;
  std::string names;
  uint32_t named = 0;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    job.graph().ForChildren(i, [&](TaskIndex child) {
      if (child != index) return;
      ++parents;
      if (job.StateOf(i) == TaskState::kSucceeded || named++ >= kNamed) return;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", i + 1);
    });
  }
  if (named > kNamed) names += ", ...";
  return fmt::format("it waits for {} of {}: {} {}", left, Plural(parents, "parent"),
                     left == 1 ? "task" : "tasks", names);
}

std::string WhyLimited(const EngineState& state, const JobState& job) {
  uint32_t most = job.policy().max_running;
  if (most > 0 && job.counts().leased >= most) {
    return fmt::format("its job may run {} at once, and does", Plural(most, "task"));
  }
  const place::User& user = state.live.board.users.at(job.user());
  most = user.rule.max_running;
  if (most > 0 && user.leased >= most) {
    return fmt::format("user {} may run {} at once, and does", job.user(), Plural(most, "task"));
  }
  return "";
}

// What a node is to a task.
struct NodeView {
  bool fits = false;   // when idle
  bool takes = false;  // and it is there, and given tasks
  std::string why;     // when it does not fit: "needs 8 cpus, n1 offers 4"
  std::string stands;  // when it fits, and takes none: "drained"
};

NodeView Look(const place::Node& node, const JobState& job, const Needs& needs, Instant now) {
  NodeView view;
  const std::string& name = node.offer.node_name;
  if (auto never = WhyNever(node.offer, needs)) {
    view.why = *never;
  } else if (FitCount(node.offer, needs) == 0) {
    view.why = fmt::format("needs more than {} offers", name);
  } else if (!TakesUser(node.offer, job.user())) {
    view.why = fmt::format("is of user {}, and {} runs tasks of user {} alone", job.user(), name,
                           node.offer.user);
  } else if (!OutlivesTask(node.offer, needs, now)) {
    view.why =
        fmt::format("is planned to take {}, and {} has {} to live", FormatDuration(needs.time),
                    name, FormatDuration(std::max(node.offer.end_of_life - now, Duration{})));
  } else {
    view.fits = true;
    if (!node.present) {
      view.stands = "silent";
    } else if (node.drained) {
      view.stands = "drained";
    }
    // One that is set aside is the last resort, and takes it when there is no other.
    view.takes = view.stands.empty();
  }
  return view;
}

// Why no node can run it at all; empty when one could.
std::string WhyNowhere(const EngineState& state, const JobState& job, uint32_t request,
                       Instant now) {
  const TaskClass& of_tasks = job.requests()[request];
  const Needs& needs = of_tasks.needs;
  if (!of_tasks.gang.empty()) {
    std::string why = WhyGangNowhere(state.live.board, job.user(), of_tasks, now);
    if (!why.empty()) return "no set of nodes has room for it: it " + why;
  }
  std::string never;
  std::string stands;
  const Offer* largest = nullptr;
  for (const auto& [id, node] : state.live.board.nodes) {
    if (node.offer.slots == 0) continue;
    NodeView view = Look(node, job, needs, now);
    if (view.takes) return "";
    if (view.fits) {
      if (!stands.empty()) stands += ", ";
      stands += fmt::format("{} ({})", node.offer.node_name, view.stands);
      continue;
    }
    if (largest == nullptr || node.offer.milli_cpus > largest->milli_cpus) {
      largest = &node.offer;
      never = view.why;
    }
  }
  if (!stands.empty()) return "the only nodes that can run it take no tasks: " + stands;
  if (largest != nullptr) return "no node fits: it " + never;
  return "no node has joined: start one with `spate node start`";
}

std::string WhyElsewhere(const EngineState& state, const JobState& job, TaskIndex index,
                         Instant now) {
  NodeId node = job.TraceOf(index).blamed[0];
  if (!GoesElsewhere(state.live.board, job, index, node, now)) return "";
  return fmt::format("it failed on {}, and is tried on another node first",
                     state.live.board.nodes.at(node).offer.node_name);
}

// Nodes that would have room for it, and get few of its job's tasks as those fail there.
std::string WhySuspect(const EngineState& state, const JobState& job, uint32_t request,
                       Instant now) {
  for (const auto& [id, trouble] : job.troubles()) {
    if (!job.Suspects(id) || trouble.set_aside) continue;
    auto node = state.live.board.nodes.find(id);
    if (node == state.live.board.nodes.end() || FitNow(node->second, job, request, now) == 0) {
      continue;
    }
    if (!OthersTake(state.live.board, job, request, {id}, now)) continue;
    const bool may_now = now < trouble.failed_at || now >= trouble.trial_at;
    const Duration left = may_now ? Duration() : trouble.trial_at - now;
    return fmt::format(
        "{} of its job failed on {} one after the other: that node is given one task of it at a "
        "time{}, and no other node has room",
        Plural(trouble.failures, "task"), node->second.offer.node_name,
        left.ns > 0 ? fmt::format(", the next in {}", FormatDuration(left)) : "");
  }
  return "";
}

// It asks for more time than it was planned to take, and no node has so much left.
std::string WhyCutOff(const JobState& job, TaskIndex index, const std::string& nowhere) {
  CutOffs cut = job.CutOffsOf(index);
  if (cut.count < kLimits.cut_offs || nowhere.empty()) return nowhere;
  return fmt::format("{}; it was cut off {} times as its nodes ended, after {} at most", nowhere,
                     cut.count, FormatDuration(cut.longest));
}

// Why the nodes that there are do not have room for the gang at once, were they idle; empty: they
// would.
std::string WhyTooLarge(const EngineState& state, const JobState& job, uint32_t request,
                        Instant now) {
  const TaskClass& of_gang = job.requests()[request];
  const GangShape& shape = of_gang.gang;
  uint64_t procs = 0;
  uint32_t nodes = 0;
  for (const auto& [id, node] : state.live.board.nodes) {
    if (FitNow(node, job, request, now, /*even_sick=*/true) == 0) continue;
    const uint32_t fit = place::ProcsThatFit(node.offer, {}, of_gang);
    procs += fit;
    nodes += shape.nodes > 0 && fit >= shape.procs_per_node() ? 1 : 0;
  }
  if (shape.nodes > 0) {
    if (nodes >= shape.nodes) return "";
    return fmt::format(
        "it needs {} with room for {} each, and {} there", Plural(shape.nodes, "node"),
        shape.procs_per_node() == 1 ? "1 process"
                                    : FormatCount(shape.procs_per_node()) + " processes",
        nodes == 1 ? "1 is" : FormatCount(nodes) + " are");
  }
  if (procs >= shape.procs) return "";
  return fmt::format("it needs room for {} processes at once, and the nodes that are there have {}",
                     FormatCount(shape.procs), FormatCount(procs));
}

// Of those that are there still: one may have gone since the last pass.
std::string NamesOf(const EngineState& state, const place::GangPromise& promise) {
  constexpr size_t kNamed = 5;
  std::string names;
  size_t named = 0;
  for (const place::GangPlace& place : promise.places) {
    auto node = state.live.board.nodes.find(place.node);
    if (node == state.live.board.nodes.end() || !node->second.present) continue;
    if (named++ == kNamed) return names + ", ...";
    names += fmt::format("{}{}", names.empty() ? "" : ", ", node->second.offer.node_name);
  }
  return names.empty() ? "nodes that went away" : names;
}

std::string NameOf(const EngineState& state, const place::GangPromise& promise, Instant now) {
  const JobState& job = *state.durable().FindJob(promise.job);
  const Head next = job.Peek(promise.request, now, 1, place::kNoTurn);
  const TaskIndex index = next.count == 0 ? 0 : next.tasks.front().first;
  return fmt::format("task {}.{}", promise.job.value, index + 1);
}

// "job 1", "jobs 1, 7": what the user runs on the nodes that the gang is to have.
std::string OwnJobsOn(const EngineState& state, const place::GangPromise& promise,
                      const std::string& user) {
  std::set<JobId> jobs;
  for (const place::GangPlace& place : promise.places) {
    auto node = state.live.board.nodes.find(place.node);
    if (node == state.live.board.nodes.end()) continue;
    for (const auto& [job, here] : node->second.jobs) {
      if (here.leased > 0) jobs.insert(job);
    }
    for (const auto& [key, part] : node->second.parts) jobs.insert(key.job);
  }
  std::erase_if(jobs, [&](JobId id) { return state.durable().FindJob(id)->user() != user; });
  std::string names;
  for (JobId id : jobs) names += fmt::format("{}{}", names.empty() ? "" : ", ", id.value);
  return fmt::format("job{} {}", jobs.size() == 1 ? "" : "s", names);
}

std::string InTime(Instant start, Instant now) {
  return FormatDuration(std::max(start - now, Duration()));
}

// When a gang starts that has a promise, on which nodes, and what it waits for.
std::string WhenItStarts(const EngineState& state, const JobState& job,
                         const place::GangPromise& promise, Instant now) {
  using Binds = place::GangPromise::Binds;
  const std::string nodes = NamesOf(state, promise);
  if (promise.start == Instant::Never() || promise.late) {
    std::string text =
        fmt::format("it needs {}, and {}", nodes,
                    promise.late ? "what runs there takes far longer than was said"
                                 : "nobody knows when what runs there ends, which has no --time");
    if (promise.waits_for_own) {
      return text + fmt::format(": {} of the same user; no node is kept for it meanwhile",
                                OwnJobsOn(state, promise, job.user()));
    }
    return text + fmt::format("; {} {} for {}", promise.places.size() == 1 ? "it is" : "they are",
                              promise.binds == Binds::kAll ? "kept for it" : "others' to use",
                              InTime(state.live.gangs.next_look(), now));
  }
  std::string text = fmt::format(
      "it starts in {} at the latest, on {}, if what runs there takes no longer than was said",
      InTime(promise.start, now), nodes);
  if (promise.binds != Binds::kOwnUser) return text;
  return text + fmt::format(
                    "; it waits for {} of the same user, and other users' tasks may start "
                    "there until that ends",
                    OwnJobsOn(state, promise, job.user()));
}

// What a gang waits for that fits the nodes which are there.
std::string WhyGangWaits(const EngineState& state, const JobState& job, TaskIndex index,
                         Instant now) {
  const uint32_t request = job.RequestOf(index);
  const auto& promises = state.live.gangs.promises();
  auto mine = std::ranges::find_if(promises, [&](const place::GangPromise& promise) {
    return promise.job == job.id() && promise.request == request;
  });
  if (mine != promises.end()) {
    const Head next = job.Peek(request, now, 1, place::kNoTurn);
    if (next.count > 0 && next.tasks.front().first != index) {
      return fmt::format(
          "task {}.{}{} goes before it, and {}", job.id().value, next.tasks.front().first + 1,
          next.attempt.value > 1 ? ", which is tried again," : "",
          mine == promises.begin() ? "is the first of the gangs that wait" : "has a reservation");
    }
    std::string text = mine == promises.begin() ? "it is the first of the gangs that wait"
                                                : "it has a reservation";
    text += "; " + WhenItStarts(state, job, *mine, now);
    const std::string& late = state.live.head_reason;
    const bool told = state.live.head_told == place::PartKey{job.id(), index} && !late.empty();
    return told ? text + "; last it became later, as " + late : text;
  }
  const place::GangPromise* first = state.live.gangs.head();
  if (first == nullptr) return "";
  std::string text =
      fmt::format("a gang of job {} is the first of those that wait", first->job.value);
  if (!first->claims()) {
    return text + "; this one goes before it where it finds room, as nobody knows when that starts";
  }
  text += fmt::format(", and is to have {}", NamesOf(state, *first));
  if (state.live.gangs.policy() == GangPolicy::kFcfs) return text + ", and nobody overtakes it";
  if (job.request(request).time.ns == 0) {
    return text + "; this one could go before it where it ends in time, but it has no --time";
  }
  return text + "; this one goes before it where it does not make it later";
}

// A gang that has its nodes, and has not started.
std::string WhyNoRoom(const EngineState& state, const JobState& job, TaskIndex index) {
  const GangRun* gang = job.GangOf(index);
  auto watch = state.live.gangs_leased.find({job.id(), index});
  if (gang == nullptr || watch == state.live.gangs_leased.end() || watch->second.gone) return "";
  for (const GangLeased::Part& part : gang->parts) {
    if (watch->second.ready.contains(part.node)) continue;
    auto node = state.live.board.nodes.find(part.node);
    if (node == state.live.board.nodes.end() || !node->second.parts.contains({job.id(), index})) {
      continue;  // that part has ended
    }
    // Until it has joined in this life of the hub, its name is not known.
    const std::string& name = node->second.offer.node_name;
    return name.empty() ? "it starts as soon as its nodes are back"
                        : fmt::format("it starts as soon as node {} has room for its part", name);
  }
  return "";
}

// A node has room for the task, and keeps it for a gang: which, and how long.
std::string WhoKeepsNodes(const EngineState& state, const JobState& job, uint32_t request,
                          Instant now) {
  using Binds = place::GangPromise::Binds;
  const auto& nodes = state.live.board.nodes;
  auto is_kept = [&](const place::GangPromise& promise, const place::GangPlace& place) {
    auto at = nodes.find(place.node);
    if (at == nodes.end() || at->second.holds.empty()) return false;
    const bool binds = promise.binds == Binds::kAll ||
                       (promise.binds == Binds::kOwnUser &&
                        state.durable().FindJob(promise.job)->user() == job.user());
    return binds && FitNow(at->second, job, request, now) > 0 &&
           place::Starts(at->second.offer, at->second.held, job.request(request));
  };
  for (const place::GangPromise& promise : state.live.gangs.promises()) {
    place::GangPromise kept = promise;
    std::erase_if(kept.places, [&](const auto& place) { return !is_kept(promise, place); });
    if (kept.places.empty()) continue;
    const std::string text =
        fmt::format("{} {} kept for {}, a gang of user {}", NamesOf(state, kept),
                    kept.places.size() == 1 ? "is" : "are", NameOf(state, promise, now),
                    state.durable().FindJob(promise.job)->user());
    if (promise.start == Instant::Never() || promise.late) {
      return fmt::format("{}, for {} at most", text, InTime(state.live.gangs.next_look(), now));
    }
    return fmt::format(
        "{}, which starts in {} at the latest; a task starts there that ends before, by its --time",
        text, InTime(promise.start, now));
  }
  return "";
}

// The jobs that go before it.
std::string WhoIsAhead(const EngineState& state, const JobState& job) {
  const place::User& user = state.live.board.users.at(job.user());
  if (!user.line.empty()) {
    const place::JobTurn& first = user.line.fronts().begin()->turn;
    if (first.priority > job.priority()) {
      return fmt::format("job {} of the same user goes first, by its priority of {}",
                         first.job.value, first.priority);
    }
  }
  uint64_t others = 0;
  for (const auto& [name, other] : state.live.board.users) {
    if (&other != &user) others += other.leased;
  }
  if (others > 0) {
    return fmt::format(
        "{} of other users run before it, and {} of its user; it starts when its "
        "user's share allows it",
        Plural(others, "task"), FormatCount(user.leased));
  }
  return "other tasks are ahead of it; it starts when a slot is free";
}

}  // namespace

std::string Engine::Explain(JobId id, TaskIndex index, Instant now) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || index >= job->task_count()) return "there is no such task";
  if (job->StateOf(index) == TaskState::kLeased) return WhyNoRoom(*state_, *job, index);
  if (job->StateOf(index) != TaskState::kQueued) return "";
  if (std::string why = WhyHeld(*job); !why.empty()) return why;
  if (std::string why = WhyAfter(*job, index); !why.empty()) return why;
  if (std::string why = WhyParents(*job, index); !why.empty()) return why;
  if (std::string why = WhyElsewhere(*state_, *job, index, now); !why.empty()) return why;
  if (Instant due = job->DueOf(index); due > now) {
    return fmt::format("it waits {} before its next try", FormatDuration(due - now));
  }
  const uint32_t request = job->RequestOf(index);
  std::string nowhere = WhyNowhere(*state_, *job, request, now);
  if (!nowhere.empty()) return WhyCutOff(*job, index, nowhere);
  if (std::string why = WhyLimited(*state_, *job); !why.empty()) return why;
  if (job->IsGang(request)) {
    if (std::string why = WhyTooLarge(*state_, *job, request, now); !why.empty()) return why;
    if (std::string why = WhyGangWaits(*state_, *job, index, now); !why.empty()) return why;
  } else if (std::string why = WhySuspect(*state_, *job, request, now); !why.empty()) {
    return why;
  } else if (std::string kept = WhoKeepsNodes(*state_, *job, request, now); !kept.empty()) {
    return kept;
  }
  return WhoIsAhead(*state_, *job);
}

std::string Engine::WhyWaits(JobId id, Instant now) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->counts().queued == 0) return "";
  const place::Job& known = *state_->live.board.FindJob(id);
  const auto& order = known.ready.empty() ? known.gangs.order() : known.ready.order();
  if (!order.empty()) {
    Head head = job->Peek(order.begin()->number, now, 1, place::kNoTurn);
    if (head.count > 0) return Explain(id, head.tasks.front().first, now);
  }
  TaskIndex index = 0;
  while (job->StateOf(index) != TaskState::kQueued) ++index;
  return Explain(id, index, now);
}

std::string Engine::WhyStalled(JobId id, Instant now) const {
  constexpr uint32_t kRequests = 16;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->held() != HoldReason::kNone || job->cancelled()) return "";
  for (const After& after : job->after()) {
    const JobState* other = state_->durable().FindJob(after.job);
    if (other == nullptr || other->held() == HoldReason::kNone) continue;
    return fmt::format("it waits for job {0}, and {1}", after.job.value, WhyHeld(*other));
  }
  if (!job->Runnable()) return "";
  bool waits = job->counts().queued > 0 && job->waiting() == 0 && job->counts().leased == 0;
  if (waits && !job->graph().empty() && job->after().empty()) {
    return fmt::format("its {} wait for one another, in a circle: cancel it (spate job cancel {})",
                       Plural(job->counts().queued, "task"), id.value);
  }
  std::string why;
  uint64_t misfits = 0;
  bool some_fit = job->counts().leased > 0;
  for (uint32_t i = 0; i < std::min(job->request_count(), kRequests); ++i) {
    uint32_t waiting = job->WaitingOf(i);
    if (waiting == 0) continue;
    std::string nowhere = WhyNowhere(*state_, *job, i, now);
    if (nowhere.empty() && job->IsGang(i)) nowhere = WhyTooLarge(*state_, *job, i, now);
    some_fit |= nowhere.empty();
    if (nowhere.empty()) continue;
    misfits += waiting;
    if (why.empty()) why = std::move(nowhere);
  }
  if (why.empty() || !some_fit) return why;
  return fmt::format("{} of its tasks cannot run: {}", FormatCount(misfits), why);
}

std::string Engine::WhyNeverRuns(const std::string& user, const TaskClass& of_tasks,
                                 Instant now) const {
  return engine::WhyNeverRuns(state_->live, user, of_tasks, now);
}

// ---- Lists -------------------------------------------------------------------------------------

const char* NodeStandingName(NodeStanding standing) {
  switch (standing) {
    case NodeStanding::kUnknown:
      return "unknown";
    case NodeStanding::kJoined:
      return "joined";
    case NodeStanding::kSilent:
      return "silent";
    case NodeStanding::kDrained:
      return "drained";
    case NodeStanding::kSick:
      return "sick";
  }
  return "?";
}

namespace {

NodeStanding StandingOf(const place::Node& node) {
  if (node.lost_at != Instant::Never()) return NodeStanding::kSilent;
  if (!node.present) return NodeStanding::kUnknown;
  if (node.drained) return NodeStanding::kDrained;
  return node.sick.empty() ? NodeStanding::kJoined : NodeStanding::kSick;
}

std::string TroubleOf(const place::Node& node) {
  if (!node.sick.empty() || node.set_aside.empty()) return node.sick;
  std::string jobs;
  for (const auto& [job, user] : node.set_aside) {
    jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", job.value);
  }
  return "set aside for job " + jobs;
}

JobInfo InfoOf(const JobState& job) {
  return {job.id(),   job.user(),      job.priority(), job.counts(),
          job.held(), job.cancelled(), job.finished(), job.after()};
}

}  // namespace

std::optional<JobInfo> Engine::Info(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) return std::nullopt;
  return InfoOf(*job);
}

std::vector<JobInfo> Engine::Jobs() const {
  std::vector<JobInfo> jobs;
  for (const auto& [id, job] : state_->durable().jobs()) jobs.push_back(InfoOf(job));
  return jobs;
}

std::vector<NodeInfo> Engine::Nodes() const {
  std::vector<NodeInfo> nodes;
  for (const auto& [id, node] : state_->live.board.nodes) {
    nodes.push_back({id, node.offer, StandingOf(node), TroubleOf(node), node.leased,
                     static_cast<double>(place::Used(node.offer, node.held)) / place::kWhole,
                     node.ended, node.failed});
  }
  return nodes;
}

std::vector<UserInfo> Engine::Users() const {
  std::vector<UserInfo> users;
  for (const auto& [name, user] : state_->live.board.users) {
    users.push_back({name, user.rule, user.jobs, static_cast<uint32_t>(user.unended - user.leased),
                     user.leased, static_cast<double>(user.used) * 1e-6});
  }
  return users;
}

// ---- For tests ---------------------------------------------------------------------------------

uint64_t Engine::Digest() const { return state_->durable().Digest(); }

uint64_t Engine::StateBytes() const {
  return sizeof(EngineState) + state_->durable().StateBytes() +
         state_->live.board.nodes.size() * sizeof(place::Node);
}

}  // namespace spate::engine
