// Words for what happened, shared by the views of a run and by the history commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/model/attempt.h"

namespace spate::present {

// "exit code 3", "signal 9 (KILL)", "over its time limit", ... ; no control bytes in it.
std::string CauseText(const AttemptEnd& end);

// The end of a task: the same, but for a gang "rank 3 on node n2 ended with exit code 1; the others
// were ended for it".
std::string VerdictText(const AttemptEnd& end);

// The last end of a task that failed, or whose end is `unknown`: "exit code 3", and " after 1.2 s,
// attempt 2: CMD".
std::string FailureVerdict(const AttemptEnd& end, bool unknown);
std::string FailureRest(const AttemptEnd& end, std::string_view command);
// Processes that its commands left behind and that were ended, "sleep (pid 12)"; empty for none,
// and for those that made it fail.
std::string LeftBehindText(const AttemptEnd& end);
// Behind "was not kept": ", because the hub's disk had too little free space"; empty for kNone.
std::string_view NotKeptWhy(NotKept why);
// Columns of a command in a line of talk.
inline constexpr size_t kCommandColumns = 200;

// "KILL" for 9; "" when the number has no name.
std::string SignalName(int signal);

// "1 task", "1,234 tasks"
std::string CountOf(uint64_t count, std::string_view noun);

// Time as short as it can be said: "6s", "3m05s", "1h02m", "3d04h".
std::string BriefDuration(Duration d);

// "81/s", "2.5/s", "12/min", "3/h"; "" below one an hour.
std::string BriefRate(double per_second);

// The first `columns` columns (code points) of text that is escaped already, "..." at a cut.
std::string CutTo(std::string_view text, size_t columns);

// Code points of valid UTF-8.
size_t Columns(std::string_view text);

}  // namespace spate::present
