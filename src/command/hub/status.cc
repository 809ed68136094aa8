// `spate hub status`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "present/json/json_fields.h"
#include "present/table/time_text.h"
#include "present/text/end_text.h"
#include "present/text/pool_words.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

// "3 joined, 1 queued"
std::string PilotsText(const std::vector<NamedCount>& pilots) {
  std::string text;
  for (const NamedCount& some : pilots) {
    if (some.count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", FormatCount(some.count), some.name);
  }
  return text.empty() ? "no pilot" : "pilots " + text;
}

// One line for each pool that does less than it could.
std::string TroubleOf(const HubScreen& screen) {
  std::vector<PoolFacts> pools;
  // A hub of the last release has none to tell of.
  (void)client::Query(screen.hub, wire::LookAtPools(),
                      [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  std::string text;
  for (const PoolFacts& pool : present::ByGroup(pools)) {
    std::string why = present::WhyOf(pool);
    if (pool.state == "on" && why.empty()) continue;
    text += fmt::format("  {:<10} {}: {}{}\n", "", EscapeForScreen(pool.policy.name), pool.state,
                        why.empty() ? "" : ": " + EscapeForScreen(why));
  }
  return text;
}

// "1.2 GB of jobs and their output, at most 25 GB; ended jobs for 90d00h"
std::string KeptText(const HubFacts& hub) {
  std::string text = FormatSize(hub.kept) + " of jobs and their output";
  if (hub.keep_most > 0) text += ", at most " + FormatSize(hub.keep_most);
  if (hub.keep_for.ns > 0) text += "; ended jobs for " + present::BriefDuration(hub.keep_for);
  return text;
}

// "1 node has no room on its disk: n1; see spate node list"
std::string FullText(const std::vector<std::string>& nodes) {
  constexpr size_t kNamed = 3;
  const auto named = std::span(nodes).first(std::min(nodes.size(), kNamed));
  return fmt::format(
      "{} no room on {}: {}{}; see spate node list",
      nodes.size() == 1 ? "1 node has" : present::CountOf(nodes.size(), "node") + " have",
      nodes.size() == 1 ? "its disk" : "their disks", fmt::join(named, ", "),
      nodes.size() > kNamed ? ", ..." : "");
}

std::string PageOf(const HubFacts& hub, const std::string& trouble) {
  std::string text = fmt::format("Hub of spate {}\n", hub.program);
  auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", name, value);
  };
  add("since", fmt::format("{} (life {})", present::DateAndTime(hub.since), hub.life));
  add("folder", EscapeForScreen(hub.folder));
  if (hub.clock) {
    add("clock", fmt::format("was {} on {}; deadlines use the new time",
                             FormatClockStep(hub.clock->from, hub.clock->to),
                             present::DateAndTime(hub.clock->to)));
  }
  if (hub.stuck > Duration()) {
    add("storage", fmt::format("nothing could be stored for {}: its disk is slow, or another "
                               "program has its database locked; nothing is started or "
                               "acknowledged before it can",
                               present::BriefDuration(hub.stuck)));
  }
  if (hub.disk == "low") {
    add("disk", fmt::format("{} free: output of tasks is not kept until there is more",
                            FormatSize(hub.disk_free)));
  } else if (hub.disk == "full") {
    add("disk", fmt::format("{} free: output of tasks is not kept, and no job is accepted, until "
                            "there is more",
                            FormatSize(hub.disk_free)));
  }
  if (hub.kept + hub.keep_most > 0 || hub.keep_for.ns > 0) add("keeps", KeptText(hub));
  add("listens", fmt::format("{}", fmt::join(hub.addresses, ", ")));
  add("nodes", fmt::format("{} connected", hub.nodes));
  if (!hub.full_nodes.empty()) add("", FullText(hub.full_nodes));
  add("jobs", fmt::format("{} not ended: {} running, {} queued", FormatCount(hub.jobs),
                          present::CountOf(hub.running, "task"), FormatCount(hub.queued)));
  if (!hub.policy.empty()) add("policy", hub.policy);
  if (hub.pools > 0) add("pools", fmt::format("{}: {}", hub.pools, PilotsText(hub.pilots)));
  text += trouble;
  add("peers", fmt::format("{} accepted, {} refused, {} closed for violating the protocol",
                           hub.accepted, hub.refused, hub.breaches));
  if (!hub.metrics.empty()) add("metrics", hub.metrics);
  return text;
}

Result<int> HubStatus(const HubScreen& screen) {
  auto hub = TRY(client::QueryOne(screen.hub, wire::LookAtHub()));
  if (!screen.human()) return screen.Write(present::JsonOf("hub", hub));
  auto written = screen.Write(PageOf(hub, hub.pools > 0 ? TroubleOf(screen) : ""));
  if (hub.nodes == 0 && hub.pools == 0) {
    screen.Report("no node is connected; start one, here or elsewhere: spate node start --daemon");
  }
  return written;
}

}  // namespace

extern const Command kHubStatus = {
    .order = 280,
    .group = CommandGroup::kHub,
    .name = "hub status",
    .arguments = "",
    .summary = "show the hub's status",
    .details = "",
    .examples = {{{"spate hub status", "for people"}, {"spate hub status --json", "for programs"}}},
    .words_max = 0,
    .options = {{opt::kAboutHub}},
    .run = AskHub<HubStatus>,
};

}  // namespace spate::cli::command
