#include "apps/hub_answers.h"

#include <utility>

#include "apps/hub_commands.h"
#include "apps/hub_notes.h"
#include "doors/parasol/hub/para_hub.h"
#include "doors/parasol/hub/parasol_hub.h"

namespace spate::apps {

void AnswerCommand(const HubExtras& extras, hub::Service& service, hub::ClientSession& client,
                   wire::Command command) {
  command.notes.clear();
  bool failures = !command.argv.empty() && command.argv[0] == kFailuresWord;
  if (failures) return client.Read(std::move(command));
  if (parasol::RunParaCommand(service, client, command)) return;
  if (parasol::RunParasolCommand(extras, service, client, command)) return;
  if (RunHubCommand(extras, service, client, command)) return;
  AddNotes(service, client.caller(), command);
  client.Read(std::move(command));
}

}  // namespace spate::apps
