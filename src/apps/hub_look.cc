#include "apps/hub_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/history/job_facts.h"
#include "hub/service.h"
#include "os/file.h"

namespace spate::apps {
namespace {

using engine::NodeStanding;
using engine::Verdict;

const char* WordOf(NodeStanding standing) {
  switch (standing) {
    case NodeStanding::kUnknown:
      return "joining";
    case NodeStanding::kJoined:
      return "ready";
    default:
      return engine::NodeStandingName(standing);
  }
}

uint64_t SizeOf(const std::string& path) {
  auto info = os::Stat(path);
  return info ? info->size : 0;
}

const char* StateOf(const engine::JobInfo& job) {
  if (job.held != engine::HoldReason::kNone) return "held";
  return job.counts.leased + job.counts.finished() > 0 ? "running" : "queued";
}

cli::JsonLine JsonOf(const hub::Service& service, const hub::Caller& caller,
                     const engine::JobInfo& job) {
  cli::JsonLine line = cli::TypedLine("job");
  line.Number("job", job.job.value);
  cli::TextOrBase64(line, "user", job.user);
  const hub::KnownJobs::Job* entry = service.known().Find(job.job);
  bool may_see = entry != nullptr && (caller.is_admin || caller.user == job.user);
  if (may_see) {
    cli::TextOrBase64(line, "name", entry->name);
  } else {
    line.Null("name");
  }
  const JobCounts& counts = job.counts;
  line.Text("state", StateOf(job)).Number("total", counts.total).Number("queued", counts.queued);
  line.Number("running", counts.leased).Number("succeeded", counts.succeeded);
  line.Number("failed", counts.failed).Number("cancelled", counts.cancelled);
  return std::move(line.Number("unknown", counts.unknown));
}

}  // namespace

std::vector<NodeFacts> FactsOfNodes(const hub::Service& service) {
  std::map<NodeId, engine::NodeInfo> infos;
  for (engine::NodeInfo& info : service.hub().engine().Nodes()) {
    NodeId id = info.node;
    infos[id] = std::move(info);
  }
  std::vector<NodeFacts> facts;
  for (const auto& [id, node] : service.nodes().all()) {
    if (node.row.removed) continue;
    NodeFacts each{&node, {}};
    if (auto at = infos.find(id); at != infos.end()) each.info = std::move(at->second);
    facts.push_back(std::move(each));
  }
  return facts;
}

std::string StandingOf(const NodeFacts& facts) {
  return facts.node->channel ? WordOf(facts.info.standing) : "away";
}

HubFigures FiguresOf(const hub::Service& service) {
  HubFigures figures;
  for (const engine::UserInfo& user : service.hub().engine().Users()) {
    figures.jobs += user.jobs;
    figures.queued += user.queued;
    figures.running += user.leased;
  }
  figures.ends = service.jobs().ends();
  for (auto standing : {NodeStanding::kUnknown, NodeStanding::kJoined, NodeStanding::kSilent,
                        NodeStanding::kDrained, NodeStanding::kSick}) {
    figures.nodes[WordOf(standing)] = 0;
  }
  figures.nodes["away"] = 0;
  for (const NodeFacts& each : FactsOfNodes(service)) ++figures.nodes[StandingOf(each)];
  const link::Counts& counts = service.door().counts();
  figures.clients = service.clients();
  figures.strangers = service.door().strangers();
  figures.accepted = counts.accepted;
  figures.refused = counts.refused;
  figures.breaches = counts.breaches;
  figures.backlog = service.store().Backlog();
  std::string journal = store::JournalPlace{service.dir(), true}.DbPath();
  figures.journal_bytes = SizeOf(journal) + SizeOf(journal + "-wal");
  figures.life = service.epoch().value;
  figures.since = service.since();
  return figures;
}

std::string MetricsText(const HubFigures& figures) {
  std::string text;
  auto begin = [&](std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP spate_{0} {2}\n# TYPE spate_{0} {1}\n", name, type, help);
  };
  auto one = [&](std::string_view name, std::string_view type, auto value, std::string_view help) {
    begin(name, type, help);
    text += fmt::format("spate_{} {}\n", name, value);
  };
  begin("tasks", "gauge", "Tasks of jobs that have not ended.");
  text += fmt::format("spate_tasks{{state=\"queued\"}} {}\n", figures.queued);
  text += fmt::format("spate_tasks{{state=\"running\"}} {}\n", figures.running);
  begin("ends_total", "counter", "Attempts that have ended in this life of the hub.");
  for (size_t i = 0; i < figures.ends.size(); ++i) {
    text += fmt::format("spate_ends_total{{verdict=\"{}\"}} {}\n",
                        engine::VerdictName(static_cast<Verdict>(i)), figures.ends[i]);
  }
  begin("nodes", "gauge", "Nodes that the hub knows.");
  for (const auto& [state, count] : figures.nodes) {
    text += fmt::format("spate_nodes{{state=\"{}\"}} {}\n", state, count);
  }
  one("jobs", "gauge", figures.jobs, "Jobs that have not ended.");
  one("clients", "gauge", figures.clients, "Clients that are connected.");
  one("strangers", "gauge", figures.strangers, "Peers that have not said yet who they are.");
  one("peers_accepted_total", "counter", figures.accepted, "Peers that were let in.");
  one("peers_refused_total", "counter", figures.refused, "Peers that were refused.");
  one("breaches_total", "counter", figures.breaches, "Peers that broke the protocol.");
  one("commit_backlog_bytes", "gauge", figures.backlog, "Bytes that wait to be written.");
  one("journal_bytes", "gauge", figures.journal_bytes, "Bytes of the journal on disk.");
  one("loop_lag_seconds", "gauge", figures.lag.seconds(), "How late the loop was, newest look.");
  one("life", "gauge", figures.life, "How often the hub has been started.");
  // No exponents: a double of 1.8e9 keeps its milliseconds.
  one("start_time_seconds", "gauge", fmt::format("{:.3f}", figures.since.seconds()),
      "When this life began, since 1970.");
  return text;
}

cli::JsonLine JsonOf(const hub::Service& service, const HubFigures& figures) {
  cli::JsonLine line = cli::TypedLine("hub");
  auto number = [&](std::string_view key, uint64_t value) {
    line.Number(key, static_cast<int64_t>(value));
  };
  line.Text("program", SPATE_VERSION);
  number("life", figures.life);
  line.Seconds("since", figures.since.seconds());
  number("nodes", service.nodes_joined());
  number("away", figures.nodes.at("away"));
  number("jobs", figures.jobs);
  number("queued", figures.queued);
  number("running", figures.running);
  uint64_t ended = 0;
  for (uint64_t count : figures.ends) ended += count;
  number("ended", ended);
  number("failed", figures.ends[static_cast<size_t>(Verdict::kFailed)] +
                       figures.ends[static_cast<size_t>(Verdict::kUnknown)]);
  number("clients", figures.clients);
  number("refused", figures.refused);
  number("breaches", figures.breaches);
  return std::move(line.Text("folder", service.dir()));
}

cli::JsonLine JsonOf(const NodeFacts& facts) {
  const Offer& offer = facts.info.offer;
  cli::JsonLine line = cli::TypedLine("node");
  line.Text("node", facts.node->row.name);
  line.Text("state", StandingOf(facts)).Text("user", facts.node->row.user);
  line.Number("slots", offer.slots).Seconds("cpus", offer.milli_cpus / 1000.0);
  line.Number("memory", static_cast<int64_t>(offer.memory));
  line.Number("tasks", facts.info.leased).Seconds("used", facts.info.used);
  line.Number("ended", static_cast<int64_t>(facts.info.ended));
  line.Number("failed", static_cast<int64_t>(facts.info.failed));
  if (const auto& state = facts.node->state) {
    line.Seconds("load", state->machine.load);
    line.Number("free_memory", static_cast<int64_t>(state->machine.free_memory));
    line.Seconds("cpu_pressure", state->machine.cpu_pressure);
    line.Seconds("memory_pressure", state->machine.memory_pressure);
    line.Seconds("io_pressure", state->machine.io_pressure);
  }
  line.Text("from", facts.node->peer).Text("program", facts.node->product);
  return std::move(line.Text("why", facts.info.text));
}

std::string TopLines(const hub::Service& service, const hub::Caller& caller) {
  std::string text = JsonOf(service, FiguresOf(service)).Finish();
  std::vector<NodeFacts> nodes = FactsOfNodes(service);
  auto busy = [](const NodeFacts& each) {
    return std::tuple(-each.info.used, !each.node->channel, each.node->row.name);
  };
  std::ranges::sort(nodes, {}, busy);
  if (nodes.size() > kTopMost) nodes.resize(kTopMost);
  for (const NodeFacts& each : nodes) text += JsonOf(each).Finish();
  std::vector<engine::JobInfo> jobs = service.known().Unfinished();
  std::ranges::sort(jobs, {}, [](const engine::JobInfo& job) {
    return std::pair(job.counts.leased == 0, job.job);
  });
  if (jobs.size() > kTopMost) jobs.resize(kTopMost);
  for (const engine::JobInfo& job : jobs) text += JsonOf(service, caller, job).Finish();
  return text;
}

}  // namespace spate::apps
