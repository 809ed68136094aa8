// Engine::CheckInvariants: what must hold between durable state, board and jobs after each step.
#include <algorithm>

#include "base/check.h"
#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

// Expected counts of the existing state.
struct Counted {
  std::map<NodeId, uint32_t> lossy;
  std::map<std::pair<NodeId, JobId>, place::Amounts> held;
  std::map<std::pair<NodeId, JobId>, place::Amounts> over;
  std::map<std::pair<NodeId, JobId>, uint32_t> leased;
  std::map<NodeId, std::map<place::PartKey, place::Amounts>> parts;
};

Counted CountLeases(const Durable& durable, const place::Board& board) {
  Counted counted;
  for (const auto& [id, node] : durable.nodes()) {
    for (const auto& [key, range] : node.leases) {
      counted.lossy[id] += range.lossy ? 1 : 0;
      const JobState& job = *durable.FindJob(key.job);
      if (range.procs > 0) {
        counted.parts[id][{key.job, key.first}] = place::AmountsOfPart(
            board.nodes.at(id).offer, job.requests()[range.request], range.procs);
        continue;
      }
      counted.leased[{id, key.job}] += range.left;
      place::AddTasks(counted.held[{id, key.job}], board.nodes.at(id).offer,
                      job.request(range.request), range.left);
    }
  }
  return counted;
}

bool Same(const place::Amounts& a, const place::Amounts& b, const Offer& offer) {
  for (size_t k = 0; k < place::Amounts::kNamed + offer.named.size(); ++k) {
    if (a.At(k) != b.At(k)) return false;
  }
  return true;
}

bool SetsAside(const JobState* job, NodeId node) {
  if (job == nullptr || job->finished()) return false;
  auto trouble = job->troubles().find(node);
  return trouble != job->troubles().end() && trouble->second.set_aside;
}

// Jobs that go on by their own records, those that have ended by the node's.
void CheckSetAside(const Durable& durable, NodeId id, const place::Node& node) {
  for (const auto& [job, user] : node.set_aside) {
    CHECK(SetsAside(durable.FindJob(job), id) || durable.NodeOf(id).IsBlamedBy(job));
  }
  for (const Blame& blame : durable.NodeOf(id).blames) {
    CHECK(node.set_aside.at(blame.by) == blame.user);
  }
}

void CheckNodes(const Durable& durable, const place::Board& board) {
  Counted counted = CountLeases(durable, board);
  uint32_t crowded = 0;
  for (const auto& [id, node] : board.nodes) {
    place::Amounts all;
    uint32_t leased = 0;
    for (const auto& [key, request] : node.over) {
      const JobState& job = *durable.FindJob(key.job);
      CHECK(
          IsCurrent(durable.NodeOf(id), job, {key.job, key.index, job.CurrentAttempt(key.index)}));
      place::AddTasks(counted.over[{id, key.job}], node.offer, job.request(request), 1);
    }
    for (const auto& [job, here] : node.jobs) {
      CHECK(here.leased == (counted.leased[{id, job}]));
      CHECK(Same(here.held, counted.held[{id, job}], node.offer));
      CHECK(Same(here.over, counted.over[{id, job}], node.offer));
      CHECK(here.leased > 0 || here.charged == 0);
      all.Add(here.held);
      leased += here.leased;
    }
    CHECK(node.parts.size() == counted.parts[id].size());
    for (const auto& [key, part] : node.parts) {
      CHECK(Same(part.held, counted.parts[id].at(key), node.offer));
      all.Add(part.held);
      ++leased;
    }
    CHECK(leased == node.leased);
    CHECK(Same(all, node.held, node.offer));
    CHECK(node.lossy == counted.lossy[id]);
    place::Amounts room;
    CHECK(node.crowded == place::Crowded(node.offer, node.Taken(room)));
    crowded += node.crowded ? 1 : 0;
    CHECK(node.present || !node.roomy);
    CHECK(!node.roomy || std::ranges::count(board.roomy, id) > 0);
    CHECK(node.drained == durable.NodeOf(id).drained);
    CHECK(node.sick == durable.NodeOf(id).sick);
    CheckSetAside(durable, id, node);
  }
  CHECK(crowded == board.crowded);
}

void CheckJob(const JobState& job, const place::Job& known, Instant clock) {
  for (uint32_t request = 0; known.weight && request < job.request_count(); ++request) {
    if (job.IsGang(request)) continue;
    CHECK(known.ready.Of(request) == job.QueuedOf(request, clock));
  }
  for (uint32_t request = 0; job.Runnable() && request < job.request_count(); ++request) {
    if (!job.IsGang(request)) continue;
    CHECK(known.gangs.Of(request) == job.QueuedOf(request, clock));
  }
  const bool singles = job.waiting() > job.gangs_waiting();
  CHECK(known.weight.has_value() == (singles && job.Runnable()));
  CHECK(known.place.has_value() == known.asks());
  if (!known.place) return;
  const auto& [turn, group] = *known.place;
  const place::JobTurn* in_line = known.user->line.From(group, turn);
  CHECK(in_line != nullptr);
  CHECK(*in_line == turn);
  CHECK(group == known.group());
  CHECK(turn.share == known.used * kJobWeight / std::max(job.policy().weight, 1u));
}

}  // namespace

void Engine::CheckInvariants() const {
  const Durable& durable = state_->durable();
  const place::Board& board = state_->live.board;
  durable.CheckInvariants();
  CheckNodes(durable, board);
  CHECK(board.jobs.size() == durable.jobs().size());
  std::map<JobId, uint64_t> used;
  std::map<JobId, uint32_t> over;
  for (const auto& [id, node] : board.nodes) {
    for (const auto& [key, request] : node.over) ++over[key.job];
    for (const auto& [job, here] : node.jobs) used[job] += here.charged;
    for (const auto& [key, part] : node.parts) used[key.job] += part.charge;
  }
  std::map<std::string, place::User> users;
  for (const auto& [id, node] : durable.nodes()) CHECK(board.nodes.contains(id));
  for (const auto& [id, job] : durable.jobs()) {
    for (const auto& [node, trouble] : job.troubles()) {
      CHECK(!SetsAside(&job, node) || board.nodes.at(node).set_aside.contains(id));
    }
    const place::Job& known = *board.FindJob(id);
    CheckJob(job, known, state_->live.clock);
    CHECK(board.asking_for_gangs.contains(id) == known.asks_for_gang());
    CHECK(known.used == used[id]);
    CHECK(known.over == over[id]);
    place::User& user = users[job.user()];
    user.jobs += !job.finished();
    user.leased += job.counts().leased;
    user.unended += job.counts().queued + job.counts().leased;
    user.used += known.used;
    if (known.weight) ++user.weights[*known.weight];
    if (known.weight) ++user.wanting[job.priority()];
  }
  std::map<std::string, place::Totals> groups;
  for (const auto& [name, user] : board.users) {
    const place::User& counted = users[name];
    CHECK(user.jobs == counted.jobs);
    CHECK(user.leased == counted.leased);
    CHECK(user.unended == counted.unended);
    CHECK(user.used == counted.used);
    CHECK(user.turn.has_value() == (!user.line.empty() && !user.IsBoundBy(user.rule)));
    CHECK(user.wanting == counted.wanting);
    CHECK(board.wanting.contains(&user) == user.contenders().has_value());
    CHECK(user.weights == counted.weights);
    auto rule = durable.rules().find(name);
    CHECK(user.rule == (rule == durable.rules().end() ? UserRule() : rule->second));
    CHECK(*user.group_name == (user.rule.group.empty() ? name : user.rule.group));
    CHECK(user.group == &board.groups.at(*user.group_name));
    groups[*user.group_name].Add(user);
  }
  for (const auto& [name, group] : board.groups) {
    const place::Totals& counted = groups[name];
    CHECK(group.jobs == counted.jobs);
    CHECK(group.leased == counted.leased);
    CHECK(group.unended == counted.unended);
    CHECK(group.used == counted.used);
    CHECK(group.kept == counted.kept);
    CHECK(group.turn.has_value() == (!group.members.turns.empty() && !group.IsBound()));
  }
}

}  // namespace spate::engine
