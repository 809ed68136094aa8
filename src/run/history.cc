#include "run/history.h"

#include <utility>

#include "cli/options/run_options.h"
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

}  // namespace spate::run
