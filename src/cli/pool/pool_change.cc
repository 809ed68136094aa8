// `spate pool pause|resume|set|remove`
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/pool/pool_options.h"
#include "cli/pool/pool_text.h"
#include "cli/pool/pool_verbs.h"
#include "cli/text/end_text.h"
#include "cli/text/reach.h"
#include "wire/question_checks.h"

namespace spate::cli {
namespace {

constexpr Duration kLookEvery = Duration::Seconds(1);

using Of = wire::ChangePools::Change;

Status Change(const HubScreen& screen, wire::ChangePools question) {
  question.names = screen.words.words;
  if (auto sound = wire::CheckSound(question); !sound) {
    return Fail(ErrorKind::kInvalid, "no hub takes this: " + sound.error().message);
  }
  auto changed = client::AskOne(screen.hub, std::move(question));
  return changed ? Status() : std::unexpected(changed.error());
}

Result<int> Told(const HubScreen& screen, const Status& changed, std::string_view done) {
  if (!changed) return std::unexpected(changed.error());
  screen.Say(Reaching(fmt::format("{}: {}", NamesText(screen.words.words), done), screen.reach));
  return kExitSuccess;
}

// Of all these pools.
Result<std::string> SystemOf(const HubScreen& screen) {
  std::set<std::string> systems;
  auto asked = client::Ask(screen.hub, wire::LookAtPools{screen.words.words, false},
                           [&](const PoolFacts& pool) { systems.insert(pool.system); });
  if (!asked) return std::unexpected(asked.error());
  if (systems.size() == 1) return *systems.begin();
  return Fail(ErrorKind::kInvalid,
              "the words behind -- are for one batch system, and these pools have several; change "
              "those of each by itself");
}

// Those of these pools, or groups, that are there.
Result<std::vector<PoolFacts>> StillThere(const HubScreen& screen) {
  const std::vector<std::string>& names = screen.words.words;
  std::vector<PoolFacts> pools;
  auto asked = client::Ask(screen.hub, wire::LookAtPools(), [&](PoolFacts pool) {
    bool meant = std::ranges::any_of(names, [&](const std::string& name) {
      return name == pool.name || (name == pool.group && !name.empty());
    });
    if (meant) pools.push_back(std::move(pool));
  });
  if (!asked) return std::unexpected(asked.error());
  return pools;
}

Result<int> WaitUntilGone(const HubScreen& screen) {
  std::string last;
  for (;;) {
    auto pools = StillThere(screen);
    if (!pools) return std::unexpected(pools.error());
    if (pools->empty()) break;
    uint32_t pilots = 0, nodes = 0;
    for (const PoolFacts& pool : *pools) {
      pilots += pool.queued + pool.joined + pool.leaving;
      nodes += pool.nodes;
    }
    std::string text = fmt::format("{} of {} left, with {}", CountOf(pilots, "pilot"),
                                   CountOf(pools->size(), "pool"), CountOf(nodes, "node"));
    if (text != last) screen.Say(text);
    last = std::move(text);
    screen.pause(kLookEvery);
  }
  screen.Say(fmt::format("{}: gone", NamesText(screen.words.words)));
  return kExitSuccess;
}

}  // namespace

Result<int> PausePools(const HubScreen& screen) {
  wire::ChangePools question{.names = {}, .change = Of::kPause, .reason = {}, .wish = {}};
  question.reason = screen.words.Last(Opt::kPauseReason).value_or("");
  return Told(screen, Change(screen, std::move(question)),
              fmt::format("paused, no pilot is asked for; to go on: spate pool resume {}",
                          fmt::join(screen.words.words, " ")));
}

Result<int> ResumePools(const HubScreen& screen) {
  return Told(screen,
              Change(screen, {.names = {}, .change = Of::kResume, .reason = {}, .wish = {}}),
              "may ask for pilots again");
}

Result<int> SetPools(const HubScreen& screen) {
  Result<std::string> system = std::string();
  if (HasOwnOptions(screen.words)) system = SystemOf(screen);
  if (!system) return std::unexpected(system.error());
  auto wish = MakePoolChange(screen.words, *system);
  if (!wish) return std::unexpected(wish.error());
  return Told(
      screen,
      Change(screen, {.names = {}, .change = Of::kSet, .reason = {}, .wish = std::move(*wish)}),
      "changed, for pilots to come");
}

Result<int> RemovePools(const HubScreen& screen) {
  bool wait = screen.words.Has(Opt::kPoolWait);
  std::string done = "being removed: queued pilots are cancelled, nodes end what they run";
  if (!wait) {
    done += fmt::format("; to look: spate pool info {}", fmt::join(screen.words.words, " "));
  }
  auto told = Told(
      screen, Change(screen, {.names = {}, .change = Of::kRemove, .reason = {}, .wish = {}}), done);
  return told && wait ? WaitUntilGone(screen) : told;
}

}  // namespace spate::cli
