#include "command/state/runs.h"

#include <utility>

#include "cli/options/select.h"
#include "history/pick.h"
#include "os/file.h"
#include "store/sqlite/sqlite_history.h"

namespace spate::cli {

Result<std::vector<uint32_t>> PickRuns(const HistoryCall& call,
                                       std::span<const std::string> words) {
  auto named = TRY(SelectJobs(words));
  history::Source source(store::OpenHistory(call.state_dir()));
  auto numbers = words.empty() ? history::AllJobs(source) : history::PickJobs(source, named);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  return numbers;
}

std::string HubDir(const HistoryCall& call) { return os::JoinPath(call.state_dir(), "hub"); }

}  // namespace spate::cli
