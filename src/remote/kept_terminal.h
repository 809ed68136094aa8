// The task of `spate shell`: a shell at a terminal that belongs to the task, not to whoever looks
// at it. The owner comes by a visit (remote/visit.h), whose command is the other program here: it
// carries keys and output between the visit's terminal and the task's.
//
// Both know a secret from their environment (kTerminalSecret), which the submitter made by chance.
#pragma once

#include <string>

#include "base/result.h"

namespace spate::remote {

inline constexpr const char* kTerminalSecret = "SPATE_SHELL_SECRET";
// A new one, by chance.
Result<std::string> MakeTerminalSecret();
// The task: `__terminal`, or `__terminal --keep`, which outlives its visitors. Without a first
// visitor it ends after a minute.
inline constexpr const char* kTerminalArgument = "__terminal";
inline constexpr const char* kKeepArgument = "--keep";
// The command of a visit to it.
inline constexpr const char* kAttachArgument = "__attach";
// How both are started where this program has another path, or none for the task's user.
inline constexpr const char* kThisProgram = "/proc/self/exe";

// The exit code: that of the shell, or 128 and the signal's number that ended it.
int KeepTerminal(bool outlives_visitors);
// The same, when the shell has ended; 255: the terminal is lost, or somebody else has it now.
int AttachToTerminal();

}  // namespace spate::remote
