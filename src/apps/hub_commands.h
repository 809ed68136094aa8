// The commands that the hub itself answers: about nodes and itself, and what changes jobs. All
// others look into the journal, which a reader does (hub_reader.h).
#pragma once

#include "apps/hub_verbs.h"
#include "wire/client_messages.h"

namespace spate::apps {

// False: not one of these. Else the client has its answer, or gets it later.
// It then holds what the reader is to be asked.
bool RunHubCommand(const HubExtras& extras, hub::Service& service, hub::ClientSession& client,
                   wire::Command& command);

}  // namespace spate::apps
