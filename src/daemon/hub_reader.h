// The reader of a hub's journal (history/reader_end.h).
#pragma once

#include <optional>

namespace spate::daemon {

// `spate __hub-reader DIR USER admin|user`, or `DIR JOB keep` (hub/replay_keeper.h). The process's
// exit code; nullopt when argv is something else.
std::optional<int> HubReaderEntry(int argc, char** argv);

}  // namespace spate::daemon
