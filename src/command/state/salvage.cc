// `spate state salvage`
#include <fmt/format.h>

#include <string>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/state/runs.h"
#include "present/json/json_fields.h"
#include "present/text/end_text.h"
#include "store/sqlite/salvage.h"

namespace spate::cli::command {
namespace {

// `whose`: what makes commands mean jobs of that hub.
std::string SavedText(const store::SalvageReport::Job& job, const std::string& whose) {
  if (job.lost) return fmt::format("job {}: LOST: its definition cannot be read", job.number);
  return fmt::format(
      "job {}: {}: the ends of {} kept, {} cancelled, {} not done{}", job.number,
      present::CountOf(job.tasks, "task"), FormatCount(job.ended), FormatCount(job.cancelled),
      FormatCount(job.waiting),
      job.waiting > 0 ? fmt::format(" (spate job release{} {})", whose, job.number) : "");
}

Result<int> StateSalvage(HistoryCall& call) {
  std::string dir = HubDir(call);
  auto report = TRY(store::Salvage(dir));
  if (report.kept_as.empty()) {
    if (call.human()) call.Report("the hub's journal is undamaged; nothing was changed");
    return kExitSuccess;
  }
  std::string whose = call.words().Last(opt::kState) ? " --hub" + call.StateOption() : "";
  for (const store::SalvageReport::Job& job : report.jobs) {
    if (call.human()) {
      call.Write(SavedText(job, whose) + '\n');
    } else if (call.form() == OutputForm::kJson) {
      call.Write(present::JsonOf("salvaged", "job", job.number, "lost", job.lost, "tasks",
                                 job.tasks, "ended", job.ended, "cancelled", job.cancelled,
                                 "waiting", job.waiting));
    }
  }
  if (!call.human()) return kExitSuccess;
  if (report.pools_lost) call.Report("pools: LOST: add them again");
  call.Report(fmt::format("{} without damage {}; the damaged journal is kept as {}",
                          present::CountOf(report.sound_jobs, "job"),
                          report.sound_jobs == 1 ? "stays as it was" : "stay as they were",
                          EscapeForScreen(report.kept_as)));
  return kExitSuccess;
}

}  // namespace

extern const Command kStateSalvage = {
    .order = 160,
    .group = CommandGroup::kHistory,
    .name = "state salvage",
    .arguments = "",
    .summary = "write the undamaged parts of a hub's journal to a new one",
    .details =
        "The hub must not be running. Jobs without damage stay as they are. A damaged job is held: "
        "task ends that can be read are kept, tasks whose state or definition is lost are "
        "cancelled, and the other tasks wait. The damaged journal is kept next to the new one.",
    .examples = {{{"spate state salvage", "after spate hub stop"},
                  {"spate state salvage --state /data/spate", "for a hub with this state folder"}}},
    .words_max = 0,
    .options = {{opt::kAboutHere}},
    .run = LookHere<StateSalvage>,
};

}  // namespace spate::cli::command
