#include "run/history.h"

#include <string_view>
#include <utility>

#include "cli/options/run_options.h"
#include "cli/report.h"
#include "client/surroundings.h"
#include "history/reader_end.h"
#include "os/clock.h"
#include "run/job_text.h"
#include "store/sqlite/sqlite_history.h"

namespace spate::run {
namespace {

// Settings as PreparedJob::Open makes them, without what is given now.
Result<JobSettings> SettingsOfRow(const store::JobRow& row, uint32_t cores) {
  auto options = TRY(cli::ParseRun(row.argv, {}));
  JobSettings settings = cli::SettingsOf(options, row.cwd, cores);
  TRY(DecodeRowSettings(row.settings, settings));
  return settings;
}

}  // namespace

history::Source RunsIn(const store::JobPlace& place, uint32_t cores) {
  history::Source source(store::OpenHistory(place));
  source.settings = [cores](const store::JobRow& row) { return SettingsOfRow(row, cores); };
  source.now = os::WallNow;
  return source;
}

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
