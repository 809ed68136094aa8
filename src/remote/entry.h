// `spate remote HOST COMMAND...`, also as `spate-remote`, and `spate __remote`: the server of a
// part, which a node starts beside the part's commands.
#pragma once

#include <optional>

namespace spate::remote {

// Argument with which a node starts a part's server, in the part's environment (SPATE_REMOTE):
// alone, until SIGTERM, or with `--` and the part's own command, whose end and exit code are then
// its own.
inline constexpr const char* kServerArgument = "__remote";

// Argument for a gang whose processes meet by PMI (pmi.h): followed by `--` and the command of one,
// whose end and exit code become its own. kComeArgument is started on the first node to get there.
inline constexpr const char* kMeetArgument = "__meet";
inline constexpr const char* kMeetByPmixArgument = "__meet-pmix";  // likewise, by PMIx
inline constexpr const char* kComeArgument = "__come";

// The exit code when this process was started as one of them, else nothing: then the command line
// is spate's, for help too.
std::optional<int> RemoteEntry(int argc, char** argv);

}  // namespace spate::remote
