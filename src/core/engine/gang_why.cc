// Why gangs wait, and who waits for them: promises (place/gangs.h) as reasons for people.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine_state.h"
#include "core/engine/place/node_ahead.h"
#include "core/engine/place/place.h"

namespace spate::engine {
namespace {

Why One(Reason reason) {
  Why why;
  why.push_back(std::move(reason));
  return why;
}

struct NodeNames {
  std::vector<std::string> names;
  bool more = false;
};

// Names of the nodes that still exist: one may have gone since the last pass.
NodeNames NamesOf(const EngineState& state, const place::GangPromise& promise) {
  constexpr size_t kNamed = 5;
  NodeNames nodes;
  for (const place::GangPlace& place : promise.places) {
    auto node = state.live.board.nodes.find(place.node);
    if (node == state.live.board.nodes.end() || !node->second.present) continue;
    nodes.more = nodes.names.size() == kNamed;
    if (nodes.more) break;
    nodes.names.push_back(node->second.offer.node_name);
  }
  return nodes;
}

TaskIndex NextOf(const EngineState& state, const place::GangPromise& promise, Instant now) {
  const JobState& job = *state.durable().FindJob(promise.job);
  const Head next = job.Peek(promise.request, now, 1, place::kNoTurn);
  return next.count == 0 ? 0 : next.tasks.front().first;
}

// The user's own tasks on the nodes that the gang is to have.
std::vector<int64_t> OwnJobsOn(const EngineState& state, const place::GangPromise& promise,
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
  std::vector<int64_t> numbers;
  for (JobId id : jobs) numbers.push_back(id.value);
  return numbers;
}

// A promise is as old as the last pass.
constexpr Duration kMoment = Duration::Millis(20);

Duration TimeTo(Instant start, Instant now) {
  return start <= now + kMoment || start == Instant::Never() ? Duration() : start - now;
}

// The gang could start now but for what has outlived its estimate on its nodes; nullopt: nothing
// has.
std::optional<Reason> OverdueOn(const EngineState& state, const place::GangPromise& promise,
                                Instant now) {
  std::optional<Reason> reason;
  Instant first = Instant::Never();
  bool more = false;
  for (const place::GangPlace& place : promise.places) {
    auto node = state.live.board.nodes.find(place.node);
    if (node == state.live.board.nodes.end()) continue;
    const auto overdue = place::FindOverdue(node->second, state.live.board, now);
    if (!overdue) continue;
    more = more || overdue->more || reason;
    const auto& [job, task, end] = overdue->first;
    if (end >= first) continue;
    first = end;
    reason = Reason{ReasonKind::kGangOverdue,
                    {job.value, task ? int64_t{*task} + 1 : 0, 0},
                    {now - end},
                    {node->second.offer.node_name}};
  }
  if (reason) reason->numbers[2] = more ? 1 : 0;
  return reason;
}

// When a gang starts that has a promise, on which nodes, and what it waits for.
Why WhenItStarts(const EngineState& state, const JobState& job, const place::GangPromise& promise,
                 Instant now) {
  using Binds = place::GangPromise::Binds;
  NodeNames nodes = NamesOf(state, promise);
  const int64_t more = nodes.more ? 1 : 0;
  if (promise.start == Instant::Never() || promise.late) {
    const auto unbound = static_cast<int64_t>(promise.unbound);
    const bool late = promise.late || promise.binds == Binds::kOwnUser;
    const int64_t because = unbound > 0 ? unbound + 1 : late ? 1 : 0;
    Why why = One({ReasonKind::kGangNeeds, {because, more}, {}, std::move(nodes.names)});
    if (promise.waits_for_own && unbound == 0) {
      why.push_back({ReasonKind::kGangOwnJobs, OwnJobsOn(state, promise, job.user())});
    } else if (!promise.waits_for_own) {
      why.push_back(
          {ReasonKind::kGangLooks,
           {static_cast<int64_t>(promise.places.size()), promise.binds == Binds::kAll ? 1 : 0},
           {TimeTo(state.live.gangs.next_look(), now)}});
    }
    return why;
  }
  Why why;
  auto overdue = promise.start <= now + kMoment ? OverdueOn(state, promise, now) : std::nullopt;
  if (overdue) {
    why = One(std::move(*overdue));
  } else {
    why = One(
        {ReasonKind::kGangStarts, {more}, {TimeTo(promise.start, now)}, std::move(nodes.names)});
  }
  if (promise.binds == Binds::kOwnUser) {
    why.push_back({ReasonKind::kGangAfterOwn, OwnJobsOn(state, promise, job.user())});
  }
  return why;
}

// A gang that has a promise itself.
Why WhyPromised(const EngineState& state, const JobState& job, TaskIndex index,
                const place::GangPromise& mine, Instant now) {
  const int64_t first = &mine == &state.live.gangs.promises().front() ? 1 : 0;
  const Head next = job.Peek(mine.request, now, 1, place::kNoTurn);
  if (next.count > 0 && next.tasks.front().first != index) {
    return One({ReasonKind::kGangBefore,
                {job.id().value, int64_t{next.tasks.front().first} + 1,
                 next.attempt.value > 1 ? 1 : 0, first}});
  }
  Why why = One({ReasonKind::kGangPlace, {first}});
  Append(why, WhenItStarts(state, job, mine, now));
  for (const HeadGang& head : state.durable().head_gangs()) {
    if (head.job != job.id() || head.index != index || head.later.empty()) continue;
    why.push_back({ReasonKind::kGangLater, {}, {}, {head.later}});
  }
  return why;
}

// It was told when it starts, and a gang of its user with a higher priority goes before it now.
Why WasFirst(const EngineState& state, const JobState& job, TaskIndex index, Instant now) {
  const std::vector<HeadGang> heads = state.durable().head_gangs();
  auto mine = std::ranges::find_if(
      heads, [&](const HeadGang& head) { return head.job == job.id() && head.index == index; });
  if (mine == heads.end() || mine == heads.begin() || mine->expected == Instant::Never()) return {};
  const JobState& other = *state.durable().FindJob(heads.front().job);
  if (other.user() != job.user() || other.priority() <= job.priority()) return {};
  const bool past = mine->expected < now;
  return One({ReasonKind::kGangWasFirst,
              {other.id().value, int64_t{heads.front().index} + 1, past ? 1 : 0},
              {past ? now - mine->expected : mine->expected - now}});
}

}  // namespace

// The reason why a gang waits although it fits the present nodes.
Why WhyGangWaits(const EngineState& state, const JobState& job, TaskIndex index, Instant now) {
  const uint32_t request = job.RequestOf(index);
  const auto& promises = state.live.gangs.promises();
  auto mine = std::ranges::find_if(promises, [&](const place::GangPromise& promise) {
    return promise.job == job.id() && promise.request == request;
  });
  const place::GangPromise* first = state.live.gangs.head();
  // With kFair the places of others may change before they start.
  const bool changes = state.live.gangs.policy() == GangPolicy::kFair && mine != promises.end() &&
                       mine->claims() && &*mine != first;
  if (mine != promises.end() && !changes) {
    Why why = WhyPromised(state, job, index, *mine, now);
    Append(why, WasFirst(state, job, index, now));
    return why;
  }
  if (first == nullptr) return {};
  GangRule rule = GangRule::kInTime;
  if (!first->claims()) {
    rule = GangRule::kStartUnknown;
  } else if (state.live.gangs.policy() == GangPolicy::kFcfs) {
    rule = GangRule::kNobodyPasses;
  } else if (job.request(request).time.ns == 0) {
    rule = GangRule::kNoTime;
  }
  NodeNames nodes = NamesOf(state, *first);
  Why why = One({ReasonKind::kOtherGangFirst,
                 {first->job.value, static_cast<int64_t>(rule), nodes.more ? 1 : 0},
                 {},
                 std::move(nodes.names)});
  Append(why, WasFirst(state, job, index, now));
  return why;
}

// A gang that has its nodes, and has not started.
Why WhyNoRoom(const EngineState& state, const JobState& job, TaskIndex index) {
  const GangRun* gang = job.GangOf(index);
  auto watch = state.live.gangs_leased.find({job.id(), index});
  if (gang == nullptr || watch == state.live.gangs_leased.end() || watch->second.gone) return {};
  for (const GangLeased::Part& part : gang->parts) {
    if (watch->second.ready.contains(part.node)) continue;
    auto node = state.live.board.nodes.find(part.node);
    if (node == state.live.board.nodes.end() || !node->second.parts.contains({job.id(), index})) {
      continue;  // that part has ended
    }
    // Until it has joined in this life of the hub, its name is not known.
    Reason waits{ReasonKind::kPartWaits};
    if (const std::string& name = node->second.offer.node_name; !name.empty()) waits.names = {name};
    return One(std::move(waits));
  }
  return {};
}

// A node has room for the task, and keeps it for a gang: which, and how long.
Why WhoKeepsNodes(const EngineState& state, const JobState& job, uint32_t request, Instant now) {
  using Binds = place::GangPromise::Binds;
  const auto& nodes = state.live.board.nodes;
  auto is_kept = [&](const place::GangPromise& promise, const std::string& user,
                     const place::GangPlace& place) {
    auto at = nodes.find(place.node);
    if (at == nodes.end() || at->second.holds.empty()) return false;
    const bool binds =
        promise.binds == Binds::kAll || (promise.binds == Binds::kOwnUser && user == job.user());
    return binds && FitNow(at->second, job, request, now) > 0 &&
           place::Starts(at->second.offer, at->second.held, job.request(request));
  };
  for (const place::GangPromise& promise : state.live.gangs.promises()) {
    const JobState* of = state.durable().FindJob(promise.job);
    if (of == nullptr) continue;  // it has left memory since the last pass
    place::GangPromise kept = promise;
    kept.places.insert(kept.places.end(), promise.further.begin(), promise.further.end());
    std::erase_if(kept.places,
                  [&](const auto& place) { return !is_kept(promise, of->user(), place); });
    if (kept.places.empty()) continue;
    const bool never = promise.start == Instant::Never() && promise.binds == Binds::kAll;
    const bool unknown = never || promise.late;
    NodeNames names = NamesOf(state, kept);
    Reason reason{ReasonKind::kKeptForGang,
                  {promise.job.value, int64_t{NextOf(state, promise, now)} + 1,
                   static_cast<int64_t>(kept.places.size()), names.more ? 1 : 0, unknown ? 0 : 1},
                  {TimeTo(unknown ? state.live.gangs.next_look() : promise.start, now)},
                  {of->user()}};
    reason.names.insert(reason.names.end(), names.names.begin(), names.names.end());
    return One(std::move(reason));
  }
  return {};
}

}  // namespace spate::engine
