// A resource file that another master writes.
#pragma once

#include <expected>
#include <string>

#include "base/result.h"

namespace spate::mw {

// kBusy, with where that master is as the file says.
std::unexpected<Error> InUse(const std::string& path);

}  // namespace spate::mw
