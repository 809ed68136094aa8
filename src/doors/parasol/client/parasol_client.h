// `parasol` (doors/parasol/programs/parasol.h), where it is typed.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "doors/parasol/client/batch_link.h"
#include "doors/parasol/programs/parasol.h"

namespace spate::parasol {

// Runs the words after the program's name; returns the exit code.
Result<int> RunParasol(std::span<const std::string> args);
// Its output about a hub (`list ...`, `status`, `pstat`, `plan`): prints the answer as it comes.
// `owner` is whose folder the batch lies in, where that is another user than we are; else empty.
Status TellAboutSite(const ParasolAsk& ask, BatchLink& link, const std::string& owner);

}  // namespace spate::parasol
