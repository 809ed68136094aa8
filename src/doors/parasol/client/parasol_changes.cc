#include "doors/parasol/client/parasol_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/number.h"
#include "base/units.h"
#include "core/model/ranges.h"
#include "doors/parasol/client/site_look.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/row/parasol_id.h"

namespace spate::parasol {
namespace {

constexpr Duration kMachinePatience = Duration::Seconds(10);
constexpr Duration kLookEvery = Duration::Millis(100);
constexpr size_t kChangedRanges = 50'000;

using Change = wire::ChangeNodes::Change;

// ---- Machines ----------------------------------------------------------------------------------

// nullopt: the hub knows no such node, or has removed it.
Result<std::optional<NodeFacts>> FindNode(BatchLink& link, const std::string& name) {
  std::optional<NodeFacts> found;
  auto asked = client::Ask(link, wire::ListNodes{.names = {name}},
                           [&](NodeFacts node) { found = std::move(node); });
  if (!asked && asked.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(asked.error()));
  }
  return found;
}

// The command that starts a node: on the hub's machine of a site, else on the node's.
std::string StartLine(const HubFacts& hub, const std::optional<ParasolSite>& site,
                      const std::vector<std::string>& words) {
  if (site) {
    const ParasolMachine& last = site->machines.back();
    std::string machine = words.size() > 2 ? fmt::format("{}", fmt::join(words, " "))
                                           : fmt::format("{} {} {} {}", words[0], last.cpus,
                                                         last.ram_megabytes, words[1]);
    return fmt::format("here: echo {} | paraNodeStart stdin", ShellQuote(machine));
  }
  bool reached = std::ranges::any_of(
      hub.addresses, [](const std::string& address) { return !address.starts_with('/'); });
  std::string at = reached ? " -hub=" + hub.host : "";
  return fmt::format("there: paraNode start -node={}{}", words[0], at);
}

// ---- Jobs --------------------------------------------------------------------------------------

struct IdRange {
  uint64_t first = 0, last = 0;
};

std::optional<IdRange> ReadIds(std::string_view word) {
  size_t dash = word.find('-');
  auto first = ReadNumber<uint64_t>(word.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : ReadNumber<uint64_t>(word.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return IdRange{*first, *last};
}

using Chosen = std::map<JobId, std::vector<TaskRange>>;

Status Cancel(BatchLink& link, const Chosen& chosen) {
  for (const auto& [job, ranges] : chosen) {
    TasksOfJob tasks{.job = job.value};
    for (const TaskRange& range : ranges) {
      tasks.ranges.push_back({range.first + 1, range.first + range.count, 1});
      if (tasks.ranges.size() < kChangedRanges && &range != &ranges.back()) continue;
      TRY(client::AskOne(link, wire::Cancel{.jobs = {}, .tasks = {tasks}}));
      tasks.ranges.clear();
    }
  }
  return {};
}

}  // namespace

Status NeedAdmin(BatchLink& link) {
  // A change of no node; the hub says who may make one.
  auto done = client::AskOne(link, wire::ChangeNodes());
  return done ? Status() : std::unexpected(std::move(done.error()));
}

Status AddMachine(BatchLink& link, const std::vector<std::string>& words) {
  TRY(NeedAdmin(link));
  const std::string& host = words[0];
  auto resumed =
      client::AskOne(link, wire::ChangeNodes{.names = {host}, .change = Change::kResume});
  if (!resumed && resumed.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(resumed.error()));
  }
  Instant until = link.loop().Now() + kMachinePatience;
  for (;;) {
    auto node = TRY(FindNode(link, host));
    if (node && node->state != "away") return {};
    if (link.loop().Now() >= until) break;
    link.call().Pause(kLookEvery);
    if (link.call().interrupted()) return Fail(ErrorKind::kBusy, "interrupted");
  }
  auto look = TRY(SiteLook::At(link, {}));
  return Fail(ErrorKind::kUnavailable,
              fmt::format("no node of {} has joined the hub; to start one, {}", host,
                          StartLine(look.hub, look.site, words)));
}

Result<bool> RemoveMachine(BatchLink& link, const std::vector<std::string>& words) {
  TRY(NeedAdmin(link));
  auto node = TRY(FindNode(link, words[0]));
  if (!node) return false;
  std::string reason = fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  TRY(client::AskOne(
      link, wire::ChangeNodes{.names = {words[0]}, .change = Change::kTurnAway, .reason = reason}));
  return true;
}

Status RemoveJobs(BatchLink& link, const std::vector<std::string>& ids) {
  std::map<JobId, uint64_t> totals;
  auto asked = client::AskWork(link, wire::LookAtWork(),
                               [&](const JobWork& work) { totals[work.job] = work.counts.total; });
  if (!asked) return asked;
  Chosen chosen;
  for (const std::string& word : ids) {
    auto range = ReadIds(word);
    if (!range) continue;
    auto [job, first] = PartsOfParasolId(range->first);
    auto at = totals.find(job);
    bool is_there = at != totals.end() && PartsOfParasolId(range->last).job == job;
    if (!is_there || first >= at->second) continue;
    uint64_t count = std::min(range->last - range->first + 1, at->second - first);
    chosen[job].push_back({first, static_cast<uint32_t>(count)});
  }
  return Cancel(link, chosen);
}

Status RemoveMatchingJobs(BatchLink& link, const std::string& user, const std::string& pattern) {
  std::vector<wire::RangesOfJob> theirs;
  auto asked = client::AskWork(link, wire::LookAtWork{.submission = {}, .user = {}, .tasks = true},
                               [&](JobWork work) {
                                 if (work.user == user)
                                   theirs.push_back({work.job, std::move(work.unended)});
                               });
  if (!asked) return asked;
  Chosen chosen;
  auto choose = [&](const std::vector<HubJob>& jobs) -> Status {
    for (const HubJob& job : jobs) {
      auto [id, task] = PartsOfParasolId(job.id);
      if (MatchesWildcards(pattern, job.command)) AppendIndex(chosen[id], task);
    }
    return {};
  };
  TRY(AskForJobs(link, theirs, choose));
  return Cancel(link, chosen);
}

}  // namespace spate::parasol
