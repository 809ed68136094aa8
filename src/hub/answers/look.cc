#include "hub/answers/look.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "wire/greeting.h"

namespace spate::hub {
namespace {

using engine::NodeStanding;
using engine::Verdict;

const char* StateWord(NodeStanding standing) {
  switch (standing) {
    case NodeStanding::kUnknown:
      return "joining";
    case NodeStanding::kJoined:
      return "ready";
    default:
      return WordOf(standing);
  }
}

const char* StateOf(const Nodes::Node& node, const engine::NodeInfo& info) {
  if (node.row.removed) return "removed";
  return node.channel ? StateWord(info.standing) : "away";
}

// The engine's facts of each node.
std::map<NodeId, engine::NodeInfo> NodeInfos(const engine::Engine& engine) {
  std::map<NodeId, engine::NodeInfo> infos;
  for (engine::NodeInfo& info : engine.Nodes()) {
    NodeId id = info.node;
    infos[id] = std::move(info);
  }
  return infos;
}

void AddOffer(NodeFacts& facts, const Offer& offer) {
  facts.slots = offer.slots;
  facts.cpus = offer.milli_cpus / double{kMilliCpu};
  facts.memory = offer.memory;
  for (const NamedOffer& named : offer.named) facts.offers.push_back({named.name, named.indices});
  facts.labels = offer.labels;
  if (offer.end_of_life != Instant::Never()) facts.until = offer.end_of_life;
  facts.temp_dir = offer.temp_dir;
  const std::vector<std::string> usual = wire::OwnFeatures();
  for (const std::string& name : offer.features) {
    if (std::ranges::find(usual, name) == usual.end()) facts.features.push_back(name);
  }
}

NodeFacts FactsOf(const Nodes::Node& node, const engine::NodeInfo& info, const os::Loop& loop) {
  NodeFacts facts;
  facts.name = node.row.name;
  facts.state = StateOf(node, info);
  facts.user = node.row.user;
  AddOffer(facts, info.offer);
  facts.tasks = info.leased;
  facts.used = info.used;
  facts.ended = info.ended;
  facts.failed = info.failed;
  facts.from = node.peer;
  facts.program = node.product;
  if (node.IsRefused(loop.Now())) facts.speaks = node.speaks;
  facts.why = info.text;
  if (facts.until) facts.until = loop.ToWall(*facts.until);
  facts.since = loop.ToWall(node.since);
  if (!node.state || !node.channel) return facts;
  facts.machine = node.state->machine;
  return facts;
}

// Counts its running tasks, and names those that the caller may know of.
void AddRuns(NodeFacts& facts, const Nodes::Node& node, const Jobs& jobs, const Caller& caller) {
  if (!node.state) return;
  size_t running = 0;
  for (const auto& [ref, since, left] : node.state->runs) {
    // Its end may be known here before the node's next word.
    if (!jobs.engine().Holds(node.row.id, ref)) continue;
    ++running;
    if (!node.channel) continue;
    const KnownJobs::Job* job = jobs.known().Find(ref.job);
    if (job == nullptr) continue;
    if (!MaySee(caller, job->user) && !jobs.known().IsPublic(ref.job, *job)) continue;
    facts.runs.push_back({ref.job, ref.index + 1, jobs.loop().ToWall(since), left});
  }
  const uint32_t leased = facts.tasks;
  facts.tasks = static_cast<uint32_t>(std::min<size_t>({leased, running, facts.slots}));
  facts.next = leased - facts.tasks;
}

JobGlance GlanceAt(const Jobs& jobs, const Nodes& nodes, const Caller& caller,
                   const engine::JobInfo& job) {
  const KnownJobs::Job* entry = jobs.known().Find(job.job);
  const JobCounts counts = jobs.known().Counts(job.job).value_or(job.counts);
  const bool started = entry != nullptr && entry->started;
  const Freezing stopped = jobs.engine().FreezingOf(job.job);
  const char* state = stopped != Freezing::kNone              ? WordOf(StandingOf(stopped))
                      : job.held != engine::HoldReason::kNone ? "held"
                      : started || counts.leased > 0          ? "running"
                                                              : "queued";
  JobGlance glance{job.job, job.user, std::nullopt, state, counts, {}};
  bool may_see = entry != nullptr && MaySee(caller, job.user);
  if (may_see) glance.name = entry->name;
  if (may_see) glance.left = nodes.LeftRunning(job.job);
  return glance;
}

void CountEnds(const Jobs& jobs, HubFacts& facts) {
  const auto& ends = jobs.ends();
  for (size_t i = 0; i < ends.size(); ++i) {
    auto verdict = static_cast<Verdict>(i);
    facts.ends.push_back({WordOf(verdict), ends[i]});
    facts.ended += ends[i];
    if (verdict == Verdict::kFailed || verdict == Verdict::kUnknown) facts.failed += ends[i];
  }
}

void CountNodes(const Jobs& jobs, const Nodes& nodes, HubFacts& facts) {
  std::map<std::string, uint64_t> standings = {{"away", 0}};
  for (auto standing : {NodeStanding::kUnknown, NodeStanding::kJoined, NodeStanding::kSilent,
                        NodeStanding::kDrained, NodeStanding::kSick, NodeStanding::kFull}) {
    standings[StateWord(standing)] = 0;
  }
  auto infos = NodeInfos(jobs.engine());
  for (const auto& [id, node] : nodes.all()) {
    if (node.row.removed) continue;
    const std::string state = StateOf(node, infos[id]);
    ++standings[state];
    if (state == WordOf(NodeStanding::kFull)) facts.full_nodes.push_back(node.row.name);
  }
  for (const auto& [name, count] : standings) facts.standings.push_back({name, count});
  facts.nodes = nodes.connected();
  facts.away = standings.at("away");
}

}  // namespace

std::vector<NodeFacts> FactsOfNodes(const Jobs& jobs, const Nodes& nodes, bool removed,
                                    const Caller& caller) {
  auto infos = NodeInfos(jobs.engine());
  std::vector<NodeFacts> facts;
  for (const auto& [id, node] : nodes.all()) {
    if (!removed && node.row.removed) continue;
    facts.push_back(FactsOf(node, infos[id], jobs.loop()));
    AddRuns(facts.back(), node, jobs, caller);
    for (const auto& [job, from] : jobs.engine().PartedOn(id)) {
      if (from.job < job) continue;  // the pair's other record
      facts.back().parted.push_back(
          {from.job, job, node.row.name, from.slowed, from.kind, from.alone, from.with, from.at});
    }
  }
  return facts;
}

HubFacts FactsOfHub(const AnswerParts& parts) {
  const engine::Engine& engine = parts.jobs.engine();
  HubFacts facts;
  facts.program = parts.self.product;
  facts.life = parts.self.epoch.value;
  facts.since = parts.jobs.loop().ToWall(parts.self.since);
  facts.clock = parts.self.clock;
  for (const engine::UserInfo& user : engine.Users()) facts.jobs += user.jobs;
  for (const engine::JobInfo& job : parts.jobs.known().Unfinished()) {
    facts.held += job.held != engine::HoldReason::kNone ? 1 : 0;
    const JobCounts counts = parts.jobs.known().Counts(job.job).value_or(job.counts);
    facts.queued += counts.queued;
    facts.running += counts.leased;
    const bool waits = counts.queued > 0 && job.held == engine::HoldReason::kNone;
    const KnownJobs::Job* known = waits ? parts.jobs.known().Find(job.job) : nullptr;
    if (known == nullptr || known->since.ns == 0) continue;
    const Duration age = parts.jobs.loop().Now() - known->since;
    facts.oldest_queued = std::max(facts.oldest_queued, age);
  }
  facts.came = parts.nodes.came();
  facts.went = parts.nodes.went();
  facts.lost_ends = parts.jobs.lost_ends();
  CountEnds(parts.jobs, facts);
  CountNodes(parts.jobs, parts.nodes, facts);
  facts.clients = parts.clients;
  facts.folder = parts.self.dir;
  facts.backlog = parts.jobs.store().Backlog();
  if (auto since = parts.jobs.store().StuckSince()) {
    facts.stuck = parts.jobs.loop().Now() - *since;
    if (facts.stuck < kStuckAfter) facts.stuck = {};
  }
  facts.policy = WordOf(engine.gang_policy());
  facts.pools = parts.pools.count();
  for (const auto& [state, count] : parts.pools.CountPilots()) {
    facts.pilots.push_back({state, count});
  }
  if (parts.about) parts.about(facts);
  return facts;
}

TopFacts FactsOfAll(const AnswerParts& parts, const Caller& caller, size_t most) {
  TopFacts facts{.hub = FactsOfHub(parts),
                 .nodes = FactsOfNodes(parts.jobs, parts.nodes, /*removed=*/false, caller),
                 .jobs = {}};
  std::ranges::sort(facts.nodes, {}, [](const NodeFacts& node) {
    return std::tuple(-node.used, node.state == "away", node.name);
  });
  if (facts.nodes.size() > most) facts.nodes.resize(most);
  if (auto pools = parts.pools.Describe(caller, {}, false)) facts.pools = std::move(*pools);
  std::vector<engine::JobInfo> jobs = parts.jobs.known().Unfinished();
  std::ranges::sort(jobs, {}, [](const engine::JobInfo& job) {
    return std::pair(job.counts.leased == 0, job.job);
  });
  if (jobs.size() > most) jobs.resize(most);
  for (const engine::JobInfo& job : jobs) {
    facts.jobs.push_back(GlanceAt(parts.jobs, parts.nodes, caller, job));
  }
  return facts;
}

std::vector<UserFacts> FactsOfUsers(const Jobs& jobs, const std::string& user) {
  const engine::Engine& engine = jobs.engine();
  std::map<std::string, uint32_t> next;  // tasks that nodes have not started, by user and group
  for (const engine::JobInfo& job : jobs.known().Unfinished()) {
    const JobCounts counts = jobs.known().Counts(job.job).value_or(job.counts);
    for (const std::string& name : {job.user, engine.RuleOf(job.user).group}) {
      next[name] += job.counts.leased - counts.leased;
    }
  }
  std::vector<UserFacts> facts;
  auto add = [&](const std::vector<engine::UserInfo>& infos) {
    for (const engine::UserInfo& info : infos) {
      if (!user.empty() && info.user != user) continue;
      const uint32_t waiting = std::min(next[info.user], info.leased);
      facts.push_back({info.user, info.jobs, info.leased - waiting, info.queued + waiting,
                       info.used, info.rule, info.use, info.kept});
    }
  };
  add(engine.Groups());
  add(engine.Users());
  return facts;
}

std::vector<AccessFacts> FactsOfAccess(const Credentials& access, Instant now) {
  std::vector<AccessFacts> facts;
  for (const auto& [serial, row] : access.all()) {
    bool expired = row.expires && *row.expires <= now;
    facts.push_back({serial, row.role, row.user,
                     row.revoked ? "revoked"
                     : expired   ? "expired"
                                 : "good",
                     row.created, row.expires});
  }
  return facts;
}

}  // namespace spate::hub
