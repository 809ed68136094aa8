// `spate job set`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "cli/options/submit_options.h"
#include "cli/options/values.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "command/steering.h"
#include "os/clock.h"
#include "present/json/json_fields.h"
#include "present/text/end_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

using Answer = wire::ResizeTasks::Answer;
constexpr Duration kLook = Duration::Millis(100);
constexpr Duration kPatience = Duration::Seconds(5);

Result<TaskSize> ReadSize(const Words& words) {
  TaskSize size;
  OptionReader in(words);
  auto read = [&](const Option& option, auto& field, const auto& parse) {
    typename std::remove_cvref_t<decltype(field)>::value_type value;
    if (in.Read(option, value, parse)) field = value;
  };
  read(opt::kCpus, size.milli_cpus, ParseMilliCpus);
  read(opt::kMemory, size.memory, ParseMemory);
  read(opt::kTimeLimit, size.time_limit, ParseDuration);
  TRY(in.status());
  if (size.memory == uint64_t{0}) {
    return Fail(ErrorKind::kInvalid, "--memory 0: a limit cannot be removed; write a larger one");
  }
  if (size.time_limit == Duration{}) {
    return Fail(ErrorKind::kInvalid,
                "--time-limit 0: a limit cannot be removed; write a longer one");
  }
  return size;
}

// Asks again until the nodes have answered, or for so long.
Status AwaitNodes(const HubScreen& screen, wire::ResizeTasks question, Answer& done) {
  question.look = done.since;
  for (Duration waited; done.ordered > 0 && waited < kPatience; waited = waited + kLook) {
    screen.pause(kLook);
    auto now = client::QueryOne(screen.hub, question);
    if (!now) {
      // All of the tasks have ended since.
      if (now.error().kind != ErrorKind::kInvalid) return std::unexpected(now.error());
      done.ordered = 0;
      return {};
    }
    done.ordered = now->ordered;
    done.done = now->done;
    done.unanswered = std::move(now->unanswered);
    for (auto& refused : now->refused) {
      auto is_same = [&](const auto& each) {
        return each.job == refused.job && each.task == refused.task;
      };
      if (std::ranges::none_of(done.refused, is_same)) done.refused.push_back(std::move(refused));
    }
  }
  return {};
}

void PrintOutcome(const HubScreen& screen, const Answer& done) {
  if (done.queued > 0) {
    screen.Report(fmt::format("{} changed", present::CountOf(done.queued, "waiting task")));
  }
  if (done.done > 0) {
    screen.Report(fmt::format("{} changed", present::CountOf(done.done, "running task")));
  }
  if (done.same > 0) {
    screen.Report(fmt::format("{} left as before", present::CountOf(done.same, "running task")));
  }
  for (const auto& [job, task, why] : done.refused) {
    screen.Report(
        fmt::format("task {}.{} is not changed: {}", job.value, task, EscapeForScreen(why)));
  }
  if (done.more_refused > 0) {
    screen.Report(fmt::format("nor are {} more", present::CountOf(done.more_refused, "task")));
  }
  if (done.ordered == 0) return;
  screen.Report(
      fmt::format("{} not changed yet: no answer from {}; they have both requests until then",
                  present::CountOf(done.ordered, "running task"),
                  EscapeForScreen(fmt::format("{}", fmt::join(done.unanswered, ", ")))));
}

Result<int> SetSizes(const HubScreen& screen, TaskSize size) {
  const wire::Steer meant = TRY(SteerOf(screen, Steering::kStop, screen.words.words));
  wire::ResizeTasks question{.jobs = meant.jobs, .tasks = meant.tasks, .to = size};
  auto done = TRY(client::QueryOne(screen.hub, question));
  TRY(AwaitNodes(screen, question, done));
  TRY(TellSame(screen, done.ended));
  if (screen.form == OutputForm::kJson) {
    TRY(screen.write_out(present::JsonOf("resized", "queued", done.queued, "running", done.done,
                                         "same", done.same, "pending", done.ordered, "unanswered",
                                         done.unanswered, "refused", done.refused)));
  } else {
    PrintOutcome(screen, done);
  }
  const bool all = done.ended.empty() && done.refused.empty() && done.ordered == 0;
  return all ? kExitSuccess : kExitCouldNotRun;
}

Result<int> SetJobs(const HubScreen& screen) {
  const TaskSize size = TRY(ReadSize(screen.words));
  const bool terms = std::ranges::any_of(
      std::initializer_list<const Option*>{&opt::kJobWeight, &opt::kMaxRunning, &opt::kPriority,
                                           &opt::kPlanTime, &opt::kDeadline},
      [&](const Option* option) { return screen.words.Has(*option); });
  const bool names_tasks = std::ranges::any_of(
      screen.words.words, [](const std::string& word) { return word.find('.') != word.npos; });
  if (terms && names_tasks) {
    return Fail(ErrorKind::kInvalid,
                "weight, task limit, priority, --time and --deadline are set for whole jobs; name "
                "no tasks with them");
  }
  if (!terms && !size.empty()) return SetSizes(screen, size);
  auto change = TRY(MakeJobChange(screen.words, os::Clock().Now()));
  const int code = TRY(ChangeJobs(
      screen, {.change = wire::ChangeJobs::Change::kSet, .set = std::move(change)}, "changed"));
  if (size.empty() || code != kExitSuccess) return code;
  return SetSizes(screen, size);
}

}  // namespace

extern const Command kJobSet = {
    .order = 240,
    .group = CommandGroup::kHub,
    .name = "job set",
    .arguments = "JOB[.TASK]... OPTION...",
    .completes = Completes::kUnfinishedJobs,
    .summary = "change unfinished jobs: weight, priority, times, needs",
    .details =
        "--time and --deadline change the tasks that no node has yet. --deadline none removes it. "
        "--memory, --cpus and --time-limit change waiting and running tasks, also single ones "
        "(JOB.TASK). A running task shrinks at once, and grows if its node has that much free; "
        "otherwise nothing changes, and the command prints what is free there. Memory cannot "
        "shrink below what the task uses. Retries begin with the new request. SPATE_CPUS and "
        "SPATE_MEMORY of a running task stay as they were.",
    .examples = {{{"spate job set 12 --max-running 10", "at most 10 tasks at once"},
                  {"spate job set 12 --time 2h --deadline +1d", "plan its waiting tasks anew"},
                  {"spate job set 12.3 --memory 16G", "more memory for a running task"},
                  {"spate job set 12 --time-limit 4h", "more time for all its tasks"}}},
    .words_min = 1,
    .options = {{opt::kAboutHubJobs, opt::kJobWeight, opt::kMaxRunning, opt::kPriority,
                 opt::kPlanTime, opt::kDeadline, opt::kCpus, opt::kMemory, opt::kTimeLimit}},
    .run = AskHub<SetJobs>,
};

}  // namespace spate::cli::command
