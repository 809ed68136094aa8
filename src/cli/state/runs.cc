#include "cli/state/runs.h"

#include <utility>

#include "cli/history/select.h"
#include "history/pick.h"

namespace spate::cli {

Result<std::vector<uint32_t>> PickRuns(const HistoryCall& call,
                                       std::span<const std::string> words) {
  auto named = SelectJobs(words);
  if (!named) return std::unexpected(std::move(named.error()));
  history::Source source{store::JobPlace(call.state_dir())};
  auto numbers = words.empty() ? history::AllJobs(source) : history::PickJobs(source, *named);
  if (!numbers) return std::unexpected(call.Here(std::move(numbers.error())));
  return numbers;
}

}  // namespace spate::cli
