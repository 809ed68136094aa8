#include "command/pool/pools.h"

#include <fmt/format.h>

#include <utility>

#include "cli/exit_code.h"
#include "command/pool/pool_text.h"
#include "wire/question_checks.h"

namespace spate::cli {

Result<std::vector<PoolFacts>> AskPools(const HubScreen& screen, bool pilots) {
  std::vector<PoolFacts> pools;
  TRY(client::Query(screen.hub, wire::LookAtPools{screen.words.words, pilots},
                    [&](PoolFacts pool) { pools.push_back(std::move(pool)); }));
  return pools;
}

void SayNoPool(const HubScreen& screen) {
  screen.Report("no pools; to add one for Slurm: spate pool add slurm NAME -- OPTIONS OF SBATCH");
}

Status ChangePools(const HubScreen& screen, wire::ChangePools question) {
  question.names = screen.words.words;
  if (auto sound = wire::CheckBeforeSending(question); !sound) {
    return Fail(ErrorKind::kInvalid, "no hub accepts this: " + sound.error().message);
  }
  auto changed = client::QueryOne(screen.hub, std::move(question));
  return changed ? Status() : std::unexpected(changed.error());
}

Result<int> TellChanged(const HubScreen& screen, const Status& changed, std::string_view done) {
  if (!changed) return std::unexpected(changed.error());
  screen.Report(fmt::format("{}: {}", NamesText(screen.words.words), done));
  return kExitSuccess;
}

}  // namespace spate::cli
