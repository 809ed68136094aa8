// The reader of a run's journal (history/reader_end.h).
#pragma once

#include <optional>

namespace spate::run {

// `spate __run-reader STATE USER admin|user`, or `STATE JOB keep` (hub/replay_keeper.h). The
// process's exit code; nullopt when argv is something else.
std::optional<int> RunReaderEntry(int argc, char** argv);

}  // namespace spate::run
