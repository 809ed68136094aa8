#include "daemon/hub_answers.h"

#include "doors/parasol/hub/para_hub.h"
#include "doors/parasol/hub/parasol_hub.h"

namespace spate::daemon {

namespace {

// All that people type is asked by types.
Error OfAnotherVersion() {
  return {ErrorKind::kInvalid,
          "a hub does not answer words like these: your program and this hub are of different "
          "versions; use the hub's version"};
}

}  // namespace

void AnswerCommand(const parasol::ParasolSite* site, hub::Service& service,
                   hub::ClientSession& client, const wire::Command& command) {
  if (parasol::RunParaCommand(service, client, command)) return;
  if (parasol::RunParasolCommand(site, service, client, command)) return;
  client.Fail(OfAnotherVersion());
}

}  // namespace spate::daemon
