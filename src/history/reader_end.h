// The reader: a process that a hub starts to answer one question from its journal, so that the
// hub's loop never waits for a disk or a long list, and a slow client holds up its reader alone.
//
// It gets one frame with a Request on standard input, and writes frames with Replies to standard
// output; a Heartbeat at the end says that the answer is whole.
#pragma once

#include "history/source.h"

namespace spate::history {

// The whole work of such a process.
void AnswerOnce(const Source& source);

}  // namespace spate::history
