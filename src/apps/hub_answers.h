// What a hub answers to its clients' commands: at once, or by its reader.
#pragma once

#include "apps/hub_verbs.h"
#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::apps {

void AnswerCommand(const HubExtras& extras, hub::Service& service, hub::ClientSession& client,
                   wire::Command command);

}  // namespace spate::apps
