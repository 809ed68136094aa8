// The reader: a process that the hub starts to answer one question from its journal, so that the
// hub's loop never waits for a disk or a long list, and a slow client holds up its reader alone.
//
// It gets one frame with a Request on standard input, and writes frames with Replies to standard
// output; a Heartbeat at the end says that the answer is whole.
#pragma once

#include <optional>

namespace spate::daemon {

// `spate __hub-reader DIR USER admin|user`. The process's exit code; nullopt when argv is something
// else.
std::optional<int> HubReaderEntry(int argc, char** argv);

}  // namespace spate::daemon
