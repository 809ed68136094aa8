// `spate hub remove`
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "client/target.h"
#include "command/history_call.h"
#include "command/state/runs.h"
#include "os/file.h"
#include "present/text/end_text.h"
#include "store/sqlite/hub_dir.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/journal_place.h"

namespace spate::cli::command {
namespace {

// How many jobs the hub has, all ended. kBusy: others.
Result<size_t> EndedJobs(const store::JobPlace& hub) {
  // A removal that was cut short has left none.
  if (!os::Exists(store::JournalOf(hub, 0).DbPath())) return 0;
  const auto numbers = TRY(store::JobNumbers(hub));
  size_t open = 0;
  TRY(store::VisitJobs(hub, numbers, [&](const store::JobSummary& job) {
    if (job.standing != JobStanding::kFinished && job.standing != JobStanding::kDamaged) ++open;
    return true;
  }));
  if (open == 0) return numbers.size();
  return Fail(ErrorKind::kBusy,
              fmt::format("the hub in '{}' has {}; nothing was removed\n"
                          "Start the hub, wait for them or cancel them, and stop it again",
                          EscapeForScreen(hub.dir), present::CountOf(open, "unfinished job")),
              Remedy(": {}, {}", Advice("hub start", "--daemon"), Advice("job cancel", "all")));
}

Result<int> HubRemove(HistoryCall& call) {
  const std::string dir = HubDir(call);
  if (!os::Exists(dir)) {
    return Fail(ErrorKind::kNotFound, fmt::format("there is no hub in '{}'", EscapeForScreen(dir)));
  }
  auto held = store::HubDir::Open(dir);
  auto busy = [&] { return !held && held.error().kind == ErrorKind::kBusy; };
  // A hub that was just stopped needs a moment.
  for (int look = 0; look < 100 && busy() && !client::HubRuns(dir); ++look) {
    call.environment().pause(Duration::Millis(100));
    held = store::HubDir::Open(dir);
  }
  if (busy()) {
    return Fail(ErrorKind::kBusy,
                fmt::format("the hub in '{}' is run by {}; nothing was removed",
                            EscapeForScreen(dir), store::LastOwner(dir).Text()),
                Remedy("\nStop it first: {}", Advice("hub stop")));
  }
  if (!held) return std::unexpected(std::move(held.error()));
  const size_t jobs = TRY(EndedJobs(store::JobPlace::Hub(dir)));
  // First: without it, no hub starts on what is left.
  TRY(os::RemoveFile(held->place().DbPath()));
  TRY(os::RemoveTree(dir));
  call.Report(
      fmt::format("removed the hub in {}: {} with their output, its key and its access files; "
                  "access files that it made for other machines no longer work",
                  EscapeForScreen(dir), present::CountOf(jobs, "job")));
  return kExitSuccess;
}

}  // namespace

extern const Command kHubRemove = {
    .order = 345,
    .group = CommandGroup::kHub,
    .name = "hub remove",
    .arguments = "",
    .summary = "remove a stopped hub with its jobs and access files",
    .details =
        "Removes the hub's folder: its journal, the output of its jobs, its key. A hub that is "
        "running or has unfinished jobs is not removed. Remove its pools before you stop it, "
        "because "
        "the hub cancels their queued pilots. Runs of this machine (spate run) remain.",
    .examples = {{{"spate hub stop && spate hub remove", "for good"},
                  {"spate hub remove --state /data/spate", "the hub with this state folder"}}},
    .words_max = 0,
    .options = {{opt::kAboutHere}},
    .run = LookHere<HubRemove>,
};

}  // namespace spate::cli::command
