// Programs of Parasol that need a hub or a node: doors/parasol/programs has their command lines and
// usage, here stands what carries them out.
#pragma once

#include <string_view>

#include "doors/parasol/programs/programs.h"

namespace spate::apps {

// Null for a name without one.
cli::ProgramRun ParasolRunOf(std::string_view name);

}  // namespace spate::apps
