// `spate hub status|stop|access|user`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/hub/hub_screen.h"
#include "cli/options/hub_options.h"
#include "cli/table/table.h"
#include "cli/table/time_text.h"
#include "cli/text/end_text.h"
#include "cli/text/pool_words.h"
#include "cli/view/json_fields.h"

namespace spate::cli {
namespace {

Result<int> Write(const HubScreen& screen, std::string_view text) {
  if (auto written = screen.write_out(text); !written) return std::unexpected(written.error());
  return kExitSuccess;
}

// "3 joined, 1 queued"
std::string PilotsText(const std::vector<NamedCount>& pilots) {
  std::string text;
  for (const NamedCount& some : pilots) {
    if (some.count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", FormatCount(some.count), some.name);
  }
  return text.empty() ? "no pilot" : "pilots " + text;
}

// Of each pool that does not do what it could, a line.
std::string TroubleOf(const HubScreen& screen) {
  std::vector<PoolFacts> pools;
  // A hub of the last release has none to tell of.
  (void)client::Ask(screen.hub, wire::LookAtPools(),
                    [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  std::string text;
  for (const PoolFacts& pool : ByGroup(pools)) {
    std::string why = WhyOf(pool);
    if (pool.state == "on" && why.empty()) continue;
    text += fmt::format("  {:<10} {}: {}{}\n", "", EscapeForScreen(pool.name), pool.state,
                        why.empty() ? "" : ": " + EscapeForScreen(why));
  }
  return text;
}

std::string PageOf(const HubFacts& hub, const std::string& trouble) {
  std::string text = fmt::format("Hub of spate {}\n", hub.program);
  auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", name, value);
  };
  add("since", fmt::format("{} (life {})", DateAndTime(hub.since), hub.life));
  add("folder", EscapeForScreen(hub.folder));
  add("listens", fmt::format("{}", fmt::join(hub.addresses, ", ")));
  add("nodes", fmt::format("{} connected", hub.nodes));
  add("jobs", fmt::format("{} not ended: {} running, {} queued", FormatCount(hub.jobs),
                          CountOf(hub.running, "task"), FormatCount(hub.queued)));
  if (!hub.policy.empty()) add("policy", hub.policy);
  if (hub.pools > 0) add("pools", fmt::format("{}: {}", hub.pools, PilotsText(hub.pilots)));
  text += trouble;
  add("peers", fmt::format("{} accepted, {} refused, {} cut off for a breach of the protocol",
                           hub.accepted, hub.refused, hub.breaches));
  if (!hub.metrics.empty()) add("metrics", hub.metrics);
  return text;
}

Result<int> HubStatus(const HubScreen& screen) {
  auto hub = client::AskOne(screen.hub, wire::LookAtHub());
  if (!hub) return std::unexpected(hub.error());
  if (!screen.human()) return Write(screen, JsonOf("hub", *hub));
  auto written = Write(screen, PageOf(*hub, hub->pools > 0 ? TroubleOf(screen) : ""));
  if (hub->nodes == 0 && hub->pools == 0) {
    screen.Say("no node is connected; start one, here or elsewhere: spate node start --daemon");
  }
  return written;
}

Result<int> HubStop(const HubScreen& screen) {
  auto stopped = client::AskOne(screen.hub, wire::StopHub());
  if (!stopped) return std::unexpected(stopped.error());
  screen.Say("the hub stops; nodes go on with what they have");
  return kExitSuccess;
}

Result<int> HubSet(const HubScreen& screen) {
  auto options = MakeHubChange(screen.words);
  if (!options) return std::unexpected(options.error());
  auto set = client::AskOne(screen.hub, wire::SetHub{options->policy});
  if (!set) return std::unexpected(set.error());
  screen.Say(fmt::format("the hub's policy for gangs is {}", GangPolicyName(set->policy)));
  return kExitSuccess;
}

// ---- Access ------------------------------------------------------------------------------------

Result<int> AddAccess(const HubScreen& screen, const AccessOptions& options) {
  auto access = client::AskOne(screen.hub, wire::AddAccess{static_cast<uint32_t>(options.role),
                                                           options.user, options.lifetime});
  if (!access) return std::unexpected(access.error());
  return Write(screen, access->file);
}

Result<int> ListAccess(const HubScreen& screen) {
  std::string text;
  Table table({{"SERIAL", Align::kRight},
               {"ROLE"},
               {"USER", Align::kLeft, 6},
               {"MADE"},
               {"EXPIRES"},
               {"STATE"}},
              screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  auto add = [&](const AccessFacts& access) {
    if (!screen.human()) {
      text += JsonOf("access", access);
      return;
    }
    table.Add({{fmt::format("{}", access.serial)},
               {access.role},
               {access.user},
               {DateAndMinute(access.made)},
               {access.expires ? DateAndMinute(*access.expires) : "never"},
               {access.state, access.state == "good" ? Tone::kGood : Tone::kBad}});
  };
  if (auto asked = client::Ask(screen.hub, wire::ListAccess(), add); !asked) {
    return std::unexpected(asked.error());
  }
  table.Finish();
  return Write(screen, text);
}

Result<int> RevokeAccess(const HubScreen& screen, const AccessOptions& options) {
  auto revoked = client::AskOne(screen.hub, wire::RevokeAccess{options.serials});
  if (!revoked) return std::unexpected(revoked.error());
  const auto& serials = options.serials;
  screen.Say(serials.size() == 1 ? fmt::format("access {} revoked", serials.front())
                                 : fmt::format("{} accesses revoked", serials.size()));
  return kExitSuccess;
}

Result<int> HubAccess(const HubScreen& screen) {
  auto options = MakeAccessOptions(screen.words);
  if (!options) return std::unexpected(options.error());
  switch (options->verb) {
    case AccessOptions::Verb::kAdd:
      return AddAccess(screen, *options);
    case AccessOptions::Verb::kList:
      return ListAccess(screen);
    default:
      return RevokeAccess(screen, *options);
  }
}

// ---- Users -------------------------------------------------------------------------------------

std::string BoundText(uint32_t bound) { return bound == 0 ? "any" : fmt::format("{}", bound); }
std::string SizeBoundText(uint64_t bound) { return bound == 0 ? "any" : FormatSize(bound); }

Result<int> SetUser(const HubScreen& screen, const UserOptions& options) {
  auto set =
      client::AskOne(screen.hub, wire::SetUser{options.user, options.weight, options.max_running,
                                               options.max_queued, options.max_output});
  if (!set) return std::unexpected(set.error());
  const UserRule& rule = set->rule;
  screen.Say(fmt::format("{}: weight {}, {} running, {} queued, {} of output at most", options.user,
                         rule.weight, BoundText(rule.max_running), BoundText(rule.max_queued),
                         SizeBoundText(rule.max_output)));
  return kExitSuccess;
}

std::vector<Cell> RowOf(const UserFacts& user) {
  return {{user.user},
          {fmt::format("{}", user.jobs)},
          {fmt::format("{}", user.running)},
          {fmt::format("{}", user.queued)},
          {fmt::format("{:g}", user.cpus)},
          {fmt::format("{}", user.rule.weight)},
          {BoundText(user.rule.max_running)},
          {BoundText(user.rule.max_queued)},
          {SizeBoundText(user.rule.max_output)}};
}

Result<int> HubUser(const HubScreen& screen) {
  auto options = MakeUserOptions(screen.words);
  if (!options) return std::unexpected(options.error());
  if (options->changes()) return SetUser(screen, *options);
  std::string text;
  Table table({{"USER", Align::kLeft, 8},
               {"JOBS", Align::kRight},
               {"RUNNING", Align::kRight},
               {"QUEUED", Align::kRight},
               {"CPUS", Align::kRight},
               {"WEIGHT", Align::kRight},
               {"MAX RUNNING", Align::kRight},
               {"MAX QUEUED", Align::kRight},
               {"MAX OUTPUT", Align::kRight}},
              screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  auto add = [&](const UserFacts& user) {
    if (screen.human()) return table.Add(RowOf(user));
    text += JsonOf("user", user);
  };
  auto asked = client::Ask(screen.hub, wire::ListUsers{options->user}, add);
  if (!asked) return std::unexpected(asked.error());
  table.Finish();
  return Write(screen, text);
}

}  // namespace

void HubScreen::Say(std::string_view text) const {
  if (form != OutputForm::kQuiet) write_err(fmt::format("spate: {}\n", text));
}

HubVerb HubVerbOf(Command command) {
  switch (command) {
    case Command::kHubStatus:
      return HubStatus;
    case Command::kHubStop:
      return HubStop;
    case Command::kHubAccess:
      return HubAccess;
    case Command::kHubUser:
      return HubUser;
    case Command::kHubSet:
      return HubSet;
    default:
      break;
  }
  if (HubVerb of_nodes = NodeVerbOf(command)) return of_nodes;
  return JobVerbOf(command);
}

}  // namespace spate::cli
