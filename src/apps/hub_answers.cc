#include "apps/hub_answers.h"

#include <fmt/format.h>

#include <utility>

#include "apps/hub_notes.h"
#include "cli/hub/hub_screen.h"
#include "cli/options/words.h"
#include "doors/parasol/hub/para_hub.h"
#include "doors/parasol/hub/parasol_hub.h"

namespace spate::apps {

namespace {

// What the journal answers.
bool IsOfTheJournal(cli::Command command) {
  using cli::Command;
  switch (command) {
    case Command::kJobList:
    case Command::kJobInfo:
    case Command::kJobTasks:
    case Command::kJobCat:
    case Command::kJobTail:
    case Command::kJobGet:
    case Command::kReport:
    case Command::kTaskInfo:
    case Command::kTaskExplain:
      return true;
    default:
      return false;
  }
}

Status CheckCommand(const wire::Command& command) {
  if (command.argv.empty()) return Fail(ErrorKind::kInvalid, "no command");
  auto found = cli::FindCommand(command.argv);
  if (!found) return std::unexpected(found.error());
  if (IsOfTheJournal(found->command)) return {};
  if (cli::HubVerbOf(found->command) != nullptr) {
    return Fail(ErrorKind::kInvalid,
                "your program is older than this hub, which is asked otherwise "
                "now; use the hub's version");
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("a hub does not answer 'spate {}'; type it where it is to run",
                          cli::Definition(found->command).name));
}

}  // namespace

void AnswerCommand(const parasol::ParasolSite* site, hub::Service& service,
                   hub::ClientSession& client, wire::Command command) {
  command.notes.clear();
  bool failures = !command.argv.empty() && command.argv[0] == kFailuresWord;
  if (failures) return client.Read(std::move(command));
  if (parasol::RunParaCommand(service, client, command)) return;
  if (parasol::RunParasolCommand(site, service, client, command)) return;
  if (auto sound = CheckCommand(command); !sound) return client.Fail(sound.error());
  AddNotes(service, client.caller(), command);
  client.Read(std::move(command));
}

}  // namespace spate::apps
