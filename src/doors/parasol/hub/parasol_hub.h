// What the hub does for `parasol` (doors/parasol/programs/parasol.h). Its client does the rest:
// `add job`, and what concerns the file of results.
#pragma once

#include "doors/parasol/site/parasol_site.h"
#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::parasol {

// False: the command is none of parasol's. It is "parasol", with what was typed behind that. Two
// answers are not as people see them: `remove jobs` tells which jobs these are (parasol_reader.h,
// kMatches), for `remove job ID|FIRST-LAST ...`; and `pstat2` leaves out the size of the results.
// `site` is null unless paraHub started the hub.
bool RunParasolCommand(const ParasolSite* site, hub::Service& service, hub::ClientSession& client,
                       const wire::Command& command);

}  // namespace spate::parasol
