// What a hub answers to what the door asks as words: at once, or by its reader.
#pragma once

#include "doors/parasol/site/parasol_site.h"
#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::daemon {

// `site` is null unless paraHub started the hub.
void AnswerCommand(const parasol::ParasolSite* site, hub::Service& service,
                   hub::ClientSession& client, const wire::Command& command);

}  // namespace spate::daemon
