#include "run/run_reader.h"

#include <string_view>

#include "cli/report.h"
#include "client/surroundings.h"
#include "history/reader_end.h"
#include "run/history.h"
#include "store/sqlite/sqlite_history.h"

namespace spate::run {

std::optional<int> RunReaderEntry(int argc, char** argv) {
  if (argc != 5 || std::string_view(argv[1]) != "__run-reader") return std::nullopt;
  auto here = client::Surroundings::Find();
  if (!here) return cli::ReportError(here.error());
  const uint32_t cores = here->machine.facts().cores;
  store::JobPlace place(argv[2]);
  place.keep_replay_after = 1;
  if (history::KeepIfAsked(RunsIn(place, cores), argv[3], argv[4])) return 0;
  history::AnswerOnce(RunsIn(store::JobPlace(argv[2]), cores));
  return 0;
}

}  // namespace spate::run
