// Arguments of `spate remote`: the same as those of ssh and rsh, since launchers of MPI libraries
// know nothing else.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace spate::remote {

struct CallWords {
  std::string host;     // without USER@
  std::string command;  // its words joined by blanks: text for a shell, as with ssh
  bool no_input = false;
};

// Options of ssh and rsh stand before the host or behind it; they are accepted and ignored, but for
// -n. kInvalid for what ssh would not take either.
Result<CallWords> ReadCallWords(std::span<const std::string> words);

}  // namespace spate::remote
