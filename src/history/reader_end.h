// The reader: a process that a hub starts to answer one question from its journal, so that the
// hub's loop never waits for a disk or a long list, and a slow client holds up its reader alone.
//
// It gets one frame with a Request on standard input, and writes frames with Replies to standard
// output; a Heartbeat at the end says that the answer is whole.
#pragma once

#include <string_view>

#include "history/source.h"

namespace spate::history {

// The whole work of such a process.
void AnswerOnce(const Source& source);

inline constexpr std::string_view kKeepWord = "keep";
// The whole work of one that is started with "N keep", of a place that keeps even short replays
// (JobPlace::keep_replay_after): it keeps the state of job N for others
// (store/replay_file.h). False: these are other words, and nothing was done.
bool KeepIfAsked(const Source& source, std::string_view job, std::string_view word);

}  // namespace spate::history
