// `spate hub restore`
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
#include "store/sqlite/backup.h"

namespace spate::cli::command {
namespace {

Result<int> HubRestore(HistoryCall& call) {
  os::SetUmask(0077);
  std::string dir = HubDir(call);
  TRY(store::RestoreHub(call.words().words.front(), dir));
  call.Report(fmt::format(
      "restored the hub in {}; start it as before, at the same address: spate hub start{}",
      EscapeForScreen(dir), call.StateOption()));
  return kExitSuccess;
}

}  // namespace

extern const Command kHubRestore = {
    .order = 340,
    .group = CommandGroup::kHub,
    .name = "hub restore",
    .arguments = "FILE",
    .summary = "restore a hub from a backup, where no hub exists",
    .details =
        "Nodes and access files of the old hub remain valid. Jobs that were submitted after the "
        "backup are missing, and tasks that ended after it run again. The numbers of new jobs "
        "begin far above the old ones.",
    .examples = {{{"spate hub restore /backup/hub.db", "then start the hub again"},
                  {"spate hub restore --state /var/lib/spate hub.db", "the hub of this folder"}}},
    .words_min = 1,
    .words_max = 1,
    .options = {{opt::kAboutHere}},
    .run = LookHere<HubRestore>,
};

}  // namespace spate::cli::command
