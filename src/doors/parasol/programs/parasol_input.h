// Lists and templates as Parasol's programs read them.
#pragma once

#include <string>

#include "base/result.h"

namespace spate::parasol {

// The text of the file, or of standard input when it is called stdin. Of FILE.gz, .Z, .bz2 and .xz
// what gzip, bzip2 or xz unpack. Lines that end in a CR alone end in LF then.
Result<std::string> ReadParasolLines(const std::string& name);

}  // namespace spate::parasol
