#include "daemon/metrics_text.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "os/file.h"
#include "os/process.h"

namespace spate::daemon {

namespace {

// The value of a label; people made it up.
std::string Label(std::string_view value) {
  std::string text;
  for (char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string StuckPoolsText(const std::vector<PoolFacts>& pools) {
  std::string text;
  for (const PoolFacts& pool : pools) {
    const std::string& reason = pool.trouble.empty() ? pool.why : pool.trouble;
    if (pool.state == "on" && reason.empty()) continue;
    text += fmt::format("spate_pool_stuck{{pool=\"{}\",state=\"{}\",reason=\"{}\"}} 1\n",
                        Label(pool.policy.name), pool.state, Label(reason));
  }
  return text;
}

// Families of metrics, one after another.
class Families {
 public:
  void Begin(std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  void One(std::string_view name, std::string_view type, auto value, std::string_view help) {
    Begin(name, type, help);
    text += fmt::format("{} {}\n", name, value);
  }

  std::string text;
};

}  // namespace

std::string MetricsText(const HubFacts& hub, const std::vector<PoolFacts>& pools) {
  Families all;
  std::string& text = all.text;
  auto begin = [&](std::string_view name, std::string_view type, std::string_view help) {
    all.Begin(fmt::format("spate_{}", name), type, help);
  };
  auto one = [&](std::string_view name, std::string_view type, auto value, std::string_view help) {
    all.One(fmt::format("spate_{}", name), type, value, help);
  };
  begin("tasks", "gauge", "Tasks of jobs that have not ended.");
  text += fmt::format("spate_tasks{{state=\"queued\"}} {}\n", hub.queued);
  text += fmt::format("spate_tasks{{state=\"running\"}} {}\n", hub.running);
  begin("ends_total", "counter", "Attempts that have ended in this life of the hub.");
  for (const auto& [verdict, count] : hub.ends) {
    text += fmt::format("spate_ends_total{{verdict=\"{}\"}} {}\n", verdict, count);
  }
  begin("nodes", "gauge", "Nodes that the hub knows.");
  for (const auto& [state, count] : hub.standings) {
    text += fmt::format("spate_nodes{{state=\"{}\"}} {}\n", state, count);
  }
  one("pools", "gauge", hub.pools, "Pools that the hub has.");
  begin("pilots", "gauge", "Pilots of all pools.");
  for (const auto& [state, count] : hub.pilots) {
    text += fmt::format("spate_pilots{{state=\"{}\"}} {}\n", state, count);
  }
  begin("pool_stuck", "gauge", "Pools that are paused, or that ask for nodes slowly or in vain.");
  text += StuckPoolsText(pools);
  one("jobs", "gauge", hub.jobs, "Jobs that have not ended.");
  one("clients", "gauge", hub.clients, "Clients that are connected.");
  one("strangers", "gauge", hub.strangers, "Peers that have not identified themselves yet.");
  one("peers_accepted_total", "counter", hub.accepted, "Peers that were let in.");
  one("peers_refused_total", "counter", hub.refused, "Peers that were refused.");
  one("breaches_total", "counter", hub.breaches, "Peers that broke the protocol.");
  one("commit_backlog_bytes", "gauge", hub.backlog, "Bytes that wait to be written.");
  one("journal_bytes", "gauge", hub.journal_bytes, "Bytes of the journal on disk.");
  one("loop_lag_seconds", "gauge", hub.lag.seconds(), "How late the loop was, newest look.");
  one("life", "gauge", hub.life, "How often the hub has been started.");
  one("jobs_held", "gauge", hub.held, "Jobs that are held.");
  one("oldest_queued_seconds", "gauge", hub.oldest_queued.seconds(),
      "Age of the oldest job that waits for nodes; 0: none does.");
  one("nodes_came_total", "counter", hub.came, "Times that a node has joined.");
  one("nodes_went_total", "counter", hub.went, "Times that a node was disconnected.");
  one("attempts_lost_total", "counter", hub.lost_ends, "Attempts whose nodes were lost.");
  one("commit_stuck_seconds", "gauge", hub.stuck.seconds(),
      "How long nothing that waits could be written; 0: all goes on.");
  one("kept_bytes", "gauge", hub.kept, "Bytes of disk that jobs and their output take.");
  one("keep_most_bytes", "gauge", hub.keep_most, "Bound of the same (--keep); 0: none.");
  one("disk_free_bytes", "gauge", hub.disk_free, "Bytes free on the disk of the hub's folder.");
  begin("build_info", "gauge", "Version of the hub's program.");
  text += fmt::format("spate_build_info{{version=\"{}\"}} 1\n", hub.program);
  // No exponents: a double of 1.8e9 keeps its milliseconds.
  one("start_time_seconds", "gauge", fmt::format("{:.3f}", hub.since.seconds()),
      "When this life began, since 1970.");
  return text;
}

std::string NodeMetricsText(const NodeMetrics& node) {
  Families all;
  auto one = [&](std::string_view name, auto value, std::string_view help) {
    all.One(fmt::format("spate_node_{}", name), "gauge", value, help);
  };
  one("connected", node.connected ? 1 : 0, "1: the node has its hub; 0: it calls it.");
  one("slots", node.slots, "Tasks that it runs at once.");
  all.Begin("spate_node_tasks", "gauge", "Tasks that the node has.");
  all.text += fmt::format("spate_node_tasks{{state=\"running\"}} {}\n", node.running);
  all.text += fmt::format("spate_node_tasks{{state=\"waiting\"}} {}\n", node.waiting);
  one("ends_held", node.held ? 1 : 0, "1: ends are held that the hub has not been told of.");
  all.Begin("spate_build_info", "gauge", "Version of the node's program.");
  all.text += fmt::format("spate_build_info{{version=\"{}\"}} 1\n", node.program);
  return std::move(all.text);
}

// The names that Prometheus' own libraries have for these.
std::string ProcessMetricsText() {
  Families all;
  auto one = [&](std::string_view name, std::string_view type, auto value, std::string_view help) {
    all.One(fmt::format("process_{}", name), type, value, help);
  };
  if (auto process = os::InfoOf(os::OwnPid())) {
    one("resident_memory_bytes", "gauge", process->resident, "Resident memory.");
    one("cpu_seconds_total", "counter",
        fmt::format("{:.2f}", (process->user + process->system).seconds()), "CPU time.");
  }
  if (auto files = os::ListDir("/proc/self/fd")) {
    one("open_fds", "gauge", files->size(), "Open file descriptors.");
  }
  one("max_fds", "gauge", os::GetOpenFileLimit().now, "Limit of open file descriptors.");
  return std::move(all.text);
}

}  // namespace spate::daemon
