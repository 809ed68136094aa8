// `spate hub backup`
#include <fmt/format.h>

#include <string>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/state/runs.h"
#include "os/file.h"
#include "present/table/time_text.h"
#include "store/sqlite/backup.h"

namespace spate::cli::command {
namespace {

Result<int> HubBackup(HistoryCall& call) {
  os::SetUmask(0077);
  const std::string& file = call.words().words.front();
  const std::string dir = HubDir(call);
  const auto replaced = TRY(store::BackUpHub(dir, file));
  call.Report(
      fmt::format("the hub's journal and key are in {}; keep the file secret; to restore the hub: "
                  "spate hub restore {}",
                  EscapeForScreen(file), ShellQuote(file)));
  call.Report(
      fmt::format("the backup does not contain what tasks printed and brought home; that is "
                  "in {}",
                  EscapeForScreen(os::JoinPath(dir, "output"))));
  if (replaced) {
    call.Report(fmt::format("the backup of {} was replaced", present::DateAndTime(*replaced)));
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kHubBackup = {
    .order = 330,
    .group = CommandGroup::kHub,
    .name = "hub backup",
    .arguments = "FILE",
    .summary = "back up this machine's hub, even while it runs",
    .details =
        "The backup contains the journal as of one moment, the hub's key and its first access "
        "files. Keep the backup as secret as these. It does not contain the output of tasks. An "
        "older backup of that name is replaced, any other file is not.",
    .examples = {{{"spate hub backup /backup/hub.db", "while it runs"},
                  {"spate hub backup --state /var/lib/spate hub.db", "the hub of this folder"}}},
    .words_min = 1,
    .words_max = 1,
    .options = {{opt::kAboutHere}},
    .run = LookHere<HubBackup>,
};

}  // namespace spate::cli::command
