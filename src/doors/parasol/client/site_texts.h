// Output of `parasol` about a hub: `list ...`, `status`, `pstat`, `plan`.
#pragma once

#include <string>

#include "base/result.h"
#include "doors/parasol/client/batch_link.h"
#include "doors/parasol/programs/parasol.h"

namespace spate::parasol {

// Prints the answer as it comes. `owner` is whose folder the batch lies in, where that is another
// user than we are; else empty.
Status TellAboutSite(const ParasolAsk& ask, BatchLink& link, const std::string& owner);

}  // namespace spate::parasol
