#include "os/signals.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/number.h"

namespace spate::os {

static_assert(kSignalHup == SIGHUP && kSignalInt == SIGINT && kSignalQuit == SIGQUIT);
static_assert(kSignalKill == SIGKILL && kSignalPipe == SIGPIPE && kSignalTerm == SIGTERM);
static_assert(kSignalChild == SIGCHLD && kSignalContinue == SIGCONT && kSignalStop == SIGSTOP);
static_assert(kSignalTerminalStop == SIGTSTP && kSignalWindow == SIGWINCH);

std::string SignalName(int signo) {
  const char* name = sigabbrev_np(signo);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signo);
}

int SignalNumber(std::string_view text) {
  if (auto number = ReadNumber<int>(text)) return *number > 0 && *number < NSIG ? *number : 0;
  std::string upper;
  for (char c : text) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper.starts_with("SIG")) upper.erase(0, 3);
  for (int number = 1; number < NSIG; ++number) {
    const char* name = sigabbrev_np(number);
    if (name != nullptr && upper == name) return number;
  }
  return 0;
}

void IgnoreSignal(int signo) { signal(signo, SIG_IGN); }

bool IsSignalIgnored(int signo) {
  struct sigaction action{};
  return sigaction(signo, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void RestoreSignal(int signo) { signal(signo, SIG_DFL); }

void EndBySignal(int signo, std::string_view text, int code) {
  if (IsSignalIgnored(signo)) return;
  static std::string last_words;
  static int last_code;
  last_words = text;
  last_code = code;
  signal(signo, [](int) {
    (void)!write(STDERR_FILENO, last_words.data(), last_words.size());
    _exit(last_code);
  });
}

void StopSelf(int signo) { raise(signo); }

void DieOfSignal(int signo) {
  // The core file, where there is to be one, is that of whoever has died of it for a reason.
  const rlimit none{};
  (void)setrlimit(RLIMIT_CORE, &none);
  signal(signo, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signo);
  raise(signo);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  // Signals that do not end a process by themselves.
  _exit(128 + signo);
}

}  // namespace spate::os
