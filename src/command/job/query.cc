// `spate job query`
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "format/selector/selector.h"
#include "present/json/json_fields.h"
#include "present/table/time_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

// Attempts that one command has measured, one after another.
constexpr size_t kMost = 1'000;

using Shown = wire::LookAtRun::Answer;

// One attempt; of a gang the part that begins with this rank.
struct Wanted {
  uint32_t job = 0, task = 0, rank = 0;
};

Result<std::vector<Wanted>> WantedOf(const HubScreen& screen, const std::string& word) {
  std::vector<Wanted> wanted;
  std::optional<TasksOfJob> tasks;
  if (word.find('.') != word.npos) {
    auto parsed = TRY(format::ParseTaskSelector(word));
    TRY(LookUpNames(screen.hub, parsed));
    tasks = parsed.front();
  }
  JobSelector jobs;
  if (tasks && tasks->job) jobs.ranges = {{*tasks->job, *tasks->job, 1}};
  if (tasks && !tasks->job) jobs.last = true;
  if (!tasks) {
    auto selected = TRY(SelectJobs({&word, 1}));
    jobs = std::move(selected);
  }
  TRY(client::Query(screen.hub, wire::LookAtJobs{.jobs = jobs}, [&](const wire::JobNow& now) {
    for (const RunningFacts& each : now.running) {
      const bool named =
          !tasks || tasks->all || std::ranges::any_of(tasks->ranges, [&](const NumberRange& range) {
            return range.Contains(each.task);
          });
      if (named) wanted.push_back({now.job.value, each.task, each.first_rank});
    }
  }));
  if (wanted.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("no task of '{}' is running", EscapeForScreen(word)));
  }
  return wanted;
}

std::string LineOf(const Shown& shown) {
  std::string text =
      fmt::format("{}.{} on {}", shown.job.value, shown.task, EscapeForScreen(shown.node));
  if (!shown.measured || !shown.look.use) {
    return text + ": not measured" +
           (shown.look.why.empty() ? "" : ": " + EscapeForScreen(shown.look.why)) + "\n";
  }
  const RunUse& use = *shown.look.use;
  return text + fmt::format(", measured {}: cpu {} user, {} system; memory {}, peak {}\n",
                            present::DateAndTime(*shown.measured), FormatDuration(use.user),
                            FormatDuration(use.system), FormatSize(use.memory),
                            FormatSize(use.peak));
}

Result<int> Query(const HubScreen& screen) {
  std::vector<Wanted> all;
  for (const std::string& word : screen.words.words) {
    auto some = TRY(WantedOf(screen, word));
    all.insert(all.end(), some.begin(), some.end());
  }
  if (all.size() > kMost) {
    return Fail(ErrorKind::kInvalid, fmt::format("these are {} running tasks; name at most {}",
                                                 FormatCount(all.size()), FormatCount(kMost)));
  }
  int code = kExitSuccess;
  for (const Wanted& each : all) {
    const Shown shown = TRY(client::QueryOne(
        screen.hub,
        wire::LookAtRun{.task = {.job = each.job, .ranges = {{each.task, each.task, 1}}},
                        .wish = {.use = true},
                        .rank = each.rank}));
    if (!shown.look.use) code = kExitCouldNotRun;
    const std::string text =
        screen.human()
            ? LineOf(shown)
            : present::JsonOf("task_measures", "job", shown.job, "task", shown.task, "node",
                              shown.node, "measured", shown.measured, "use", shown.look.use);
    TRY(screen.write_out(text));
  }
  return code;
}

}  // namespace

extern const Command kJobQuery = {
    .order = 214,
    .group = CommandGroup::kRunning,
    .name = "job query",
    .arguments = "JOB|TASK...",
    .completes = Completes::kUnfinishedJobs,
    .summary = "have nodes measure running tasks now",
    .details =
        "Each node measures when it is asked: processor time so far, memory now, and its peak. The "
        "answer states the time of the measurement. `spate job info` shows what was told last.",
    .examples = {{{"spate job query 12", "all running tasks of job 12"},
                  {"spate job query 12.3 --json", "one task, for programs"}}},
    .words_min = 1,
    .options = {{opt::kAboutJobs}},
    .run = Order<Query>,
};

}  // namespace spate::cli::command
