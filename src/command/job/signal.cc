// `spate job signal`
#include <fmt/format.h>

#include <span>

#include "base/number.h"
#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/steering.h"
#include "os/signals.h"

namespace spate::cli::command {
namespace {

constexpr Option kAllProcesses = {.names = "all",
                                  .help = "signal every process, not only commands' first ones"};
constexpr Option kRank = {.names = "rank", .argument = "N", .help = "signal only rank N of a gang"};

Result<int> SignalJobs(const HubScreen& screen) {
  const std::span<const std::string> words = screen.words.words;
  const std::string& name = words.front();
  const int number = os::SignalNumber(name);
  if (number <= 0) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a signal; write a name or number, such as USR1 or 10",
                            EscapeForScreen(name)));
  }
  auto question = TRY(SteerOf(screen, Steering::kSignal, words.subspan(1)));
  question.signal = number;
  question.all = screen.words.Has(kAllProcesses);
  if (auto rank = screen.words.Last(kRank)) {
    auto value = ReadNumber<uint32_t>(*rank);
    if (!value) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--rank: '{}' is not the number of a rank", EscapeForScreen(*rank)));
    }
    question.rank = *value;
  }
  if (question.pid != 0 && (question.all || question.rank)) {
    return Fail(ErrorKind::kInvalid, "--all and --rank do not go with the id of a process");
  }
  return Steer(screen, std::move(question), "signalled with " + os::SignalName(number));
}

}  // namespace

extern const Command kJobSignal = {
    .order = 213,
    .group = CommandGroup::kRunning,
    .name = "job signal",
    .arguments = "NAME JOB|TASK|PROCESS...",
    .completes = Completes::kUnfinishedJobs,
    .summary = "send a signal to running tasks",
    .details =
        "NAME is a name or number: USR1, SIGUSR1, 10. The signal reaches the first process of each "
        "command of the tasks. PROCESS is an id as spate ps prints it: JOB.TASK@NODE:PID. A task "
        "that ends by signal KILL has failed and is retried as its job wishes; `spate job kill` "
        "ends "
        "it for good.",
    .examples = {{{"spate job signal USR1 12", "all running tasks of job 12"},
                  {"spate job signal --all HUP 12.3", "every process of a task"},
                  {"spate job signal INT 12.3@n1:4711", "one process"}}},
    .words_min = 2,
    .options = {{opt::kAboutJobs, kAllProcesses, kRank}},
    .run = Order<SignalJobs>,
};

}  // namespace spate::cli::command
