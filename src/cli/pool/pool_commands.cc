// `spate pool list|info|dry-run|log`
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/option_reader.h"
#include "cli/pool/pool_text.h"
#include "cli/pool/pool_verbs.h"
#include "cli/view/json_fields.h"

namespace spate::cli {
namespace {

constexpr uint32_t kMostEvents = 1'000;

Result<int> WritePage(const HubScreen& screen, std::string_view text) {
  if (auto written = screen.write_out(text); !written) return std::unexpected(written.error());
  return kExitSuccess;
}

Result<std::vector<PoolFacts>> AskPools(const HubScreen& screen, bool pilots) {
  std::vector<PoolFacts> pools;
  auto asked = client::Ask(screen.hub, wire::LookAtPools{screen.words.words, pilots},
                           [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  if (!asked) return std::unexpected(asked.error());
  return pools;
}

void SayNone(const HubScreen& screen) {
  screen.Say("no pool; one of Slurm is made with: spate pool add slurm NAME -- OPTIONS OF SBATCH");
}

Result<int> List(const HubScreen& screen) {
  auto pools = AskPools(screen, false);
  if (!pools) return std::unexpected(pools.error());
  std::string text;
  if (screen.human()) text = TableOf(screen, *pools);
  for (const PoolFacts& pool : *pools) {
    if (screen.form == OutputForm::kQuiet) text += EscapeForScreen(pool.name) + "\n";
    if (screen.form == OutputForm::kJson) text += JsonOf("pool", pool);
  }
  auto written = WritePage(screen, text);
  if (pools->empty() && screen.human()) SayNone(screen);
  return written;
}

Result<int> Info(const HubScreen& screen) {
  auto pools = AskPools(screen, true);
  if (!pools) return std::unexpected(pools.error());
  std::string text;
  for (const PoolFacts& pool : *pools) {
    if (screen.human() && !text.empty()) text += '\n';
    text += screen.human() ? PageOf(screen, pool) : JsonOf("pool", pool);
  }
  auto written = WritePage(screen, text);
  if (pools->empty() && screen.human()) SayNone(screen);
  return written;
}

Result<int> DryRun(const HubScreen& screen) {
  auto trial = client::AskOne(screen.hub, wire::TryPool{screen.words.words.front()});
  if (!trial) return std::unexpected(trial.error());
  auto written =
      WritePage(screen, screen.human() ? TrialText(*trial, true) : JsonOf("pool_trial", *trial));
  if (!written || trial->passed) return written;
  return kExitTasksFailed;
}

Result<int> Log(const HubScreen& screen) {
  OptionReader in(screen.words);
  wire::ReadPoolLog question{.name = screen.words.words.front()};
  in.Read(Opt::kLimit, question.most, CountUpTo(kMostEvents));
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  std::vector<PoolEvent> events;
  auto asked = client::Ask(screen.hub, std::move(question),
                           [&](PoolEvent event) { events.push_back(std::move(event)); });
  if (!asked) return std::unexpected(asked.error());
  if (screen.human()) return WritePage(screen, LogOf(screen, events));
  std::string text;
  for (const PoolEvent& event : events) text += JsonOf("pool_event", event);
  return WritePage(screen, text);
}

}  // namespace

HubVerb PoolVerbOf(Command command) {
  switch (command) {
    case Command::kPoolAdd:
      return AddPools;
    case Command::kPoolList:
      return List;
    case Command::kPoolInfo:
      return Info;
    case Command::kPoolDryRun:
      return DryRun;
    case Command::kPoolLog:
      return Log;
    case Command::kPoolPause:
      return PausePools;
    case Command::kPoolResume:
      return ResumePools;
    case Command::kPoolSet:
      return SetPools;
    case Command::kPoolRemove:
      return RemovePools;
    default:
      return nullptr;
  }
}

}  // namespace spate::cli
