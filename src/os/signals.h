// Signals by name, for folders without system headers. To react to one: RealLoop::OnSignal.
#pragma once

#include <string>
#include <string_view>

namespace spate::os {

inline constexpr int kSignalHup = 1;
inline constexpr int kSignalInt = 2;
inline constexpr int kSignalQuit = 3;
inline constexpr int kSignalKill = 9;
inline constexpr int kSignalSegv = 11;
inline constexpr int kSignalPipe = 13;
inline constexpr int kSignalTerm = 15;
inline constexpr int kSignalChild = 17;
inline constexpr int kSignalContinue = 18;
inline constexpr int kSignalStop = 19;
inline constexpr int kSignalTerminalStop = 20;
inline constexpr int kSignalWindow = 28;

// "SIGTERM"; "signal 77" for one without a name.
std::string SignalName(int signo);
// "TERM", "SIGTERM", "term" or "15"; 0 when it is none.
int SignalNumber(std::string_view text);

// From now on the signal does nothing to this process; for kSignalPipe: writes fail instead.
void IgnoreSignal(int signo);
// A process is born with the signals ignored that its parent ignored: nohup works so.
bool IsSignalIgnored(int signo);
// The signal does again what it does by default.
void RestoreSignal(int signo);
// From now on the signal ends this process with `code`, after `text` on standard error. Nothing is
// cleaned up. One that is ignored stays so.
void EndBySignal(int signo, std::string_view text, int code);
// Stops this process as Ctrl-Z would have done; returns when it is continued. `signo` must not be
// watched by a loop at that time, unless it is kSignalStop.
void StopSelf(int signo = kSignalStop);
// Ends this process by the signal, so that a shell sees why. Nothing is cleaned up.
[[noreturn]] void DieOfSignal(int signo);

}  // namespace spate::os
