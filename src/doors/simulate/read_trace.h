// A trace's file, as it is or made smaller by gzip.
#pragma once

#include <string>

#include "base/result.h"
#include "doors/simulate/formats/swf.h"

namespace spate::cli {

// "-": standard input. Errors name the file.
Result<format::SwfTrace> ReadTrace(const std::string& path);

}  // namespace spate::cli
