// The journals of this machine's runs, as those read them who answer questions about jobs.
#pragma once

#include <cstdint>
#include <optional>

#include "history/source.h"
#include "store/history.h"

namespace spate::run {

// The source of answers about this machine's runs.
history::Source RunsIn(const store::JobPlace& place, uint32_t cores);

// The reader of a run's journal (history/reader_end.h): `spate __run-reader STATE USER admin|user`,
// or `STATE JOB keep` (hub/replay_keeper.h). The process's exit code; nullopt when argv is
// something else.
std::optional<int> RunReaderEntry(int argc, char** argv);

}  // namespace spate::run
