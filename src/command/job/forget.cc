// `spate job forget`. Jobs are removed whole, each with its folder. A job that is named and runs is
// refused before anything is removed; where jobs are chosen by `all` or by age, those that run are
// passed over.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/history_call.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "command/state/runs.h"
#include "format/selector/selector.h"
#include "present/json/json_fields.h"
#include "present/table/text_width.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/state_folder.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kOlderThan = {.names = "older-than",
                               .argument = "T",
                               .heading = Heading::kSelect,
                               .help = "remove all finished jobs older than T"};

// ---- Of a hub ----------------------------------------------------------------------------------

Result<int> ForgetJobs(const HubScreen& screen) {
  wire::Forget question{.jobs = {}, .older_than = {}, .dry_run = screen.words.Has(opt::kDryRun)};
  auto older = screen.words.Last(kOlderThan);
  if (older) {
    auto age = ParseDuration(*older);
    if (!age) return Within("--older-than", age.error());
    question.older_than = *age;
  } else if (screen.words.words.empty()) {
    return Fail(ErrorKind::kInvalid, "no jobs named; write their numbers, or --older-than T");
  } else {
    auto jobs = TRY(SelectJobs(screen.words.words));
    question.jobs = std::move(jobs);
  }
  bool dry = question.dry_run;
  auto done = TRY(client::QueryOne(screen.hub, std::move(question)));
  std::string more;
  if (done.more) {
    more = fmt::format("; there are more: spate job forget{} --older-than {}", screen.reach,
                       EscapeForScreen(*older));
  }
  screen.Report(
      fmt::format("{}{} forgotten{}", dry ? "would be: " : "", JobsText(done.jobs), more));
  return kExitSuccess;
}

// ---- Of this machine ---------------------------------------------------------------------------

struct Candidate {
  uint32_t number = 0;
  std::string name;
  uint64_t bytes = 0;
};

bool ChoosesAll(const Words& words) {
  return std::ranges::any_of(words.words, [](const std::string& word) {
    auto selector = format::ParseJobSelector(word);
    return selector && selector->all;
  });
}

Result<std::optional<Duration>> AgeOf(const Words& words) {
  auto value = words.Last(kOlderThan);
  if (!value) return std::nullopt;
  auto age = ParseDuration(*value);
  if (!age) return Within("--older-than", std::move(age.error()));
  return *age;
}

std::unexpected<Error> StillRuns(uint32_t number, const store::JobOwner& owner) {
  const std::string how =
      owner.IsOfThisMachine() ? fmt::format("Ctrl-C, or kill {}", owner.pid) : "on that machine";
  return Fail(ErrorKind::kBusy,
              fmt::format("job {} is being run by {}; stop it first ({}); nothing was removed",
                          number, owner.Text(), how));
}

// Those of `numbers` that are to go.
Result<std::vector<Candidate>> Choose(HistoryCall& call, const std::vector<uint32_t>& numbers,
                                      std::optional<Duration> age, bool by_name) {
  std::vector<Candidate> chosen;
  for (uint32_t number : numbers) {
    std::string path = store::JobPath(call.state_dir(), number);
    auto owner = store::RunningOwner(path);
    if (owner && *owner) {
      if (by_name) return StillRuns(number, **owner);
      call.Report(fmt::format("keeping job {}: {} is running it", number, (*owner)->Text()));
      continue;
    }
    auto summary = store::SummarizeJob(call.state_dir(), number);
    if (age) {
      bool old = summary && summary->standing == JobStanding::kFinished && summary->row.ended &&
                 call.now() - *summary->row.ended > *age;
      if (!old) continue;
    }
    chosen.push_back({number, summary ? NameOf(summary->row) : "", store::FolderBytes(path)});
  }
  return chosen;
}

void Tell(HistoryCall& call, const Candidate& job, bool dry_run) {
  switch (call.form()) {
    case OutputForm::kQuiet:
      call.Write(fmt::format("{}\n", job.number));
      return;
    case OutputForm::kJson:
      call.Write(present::JsonOf("forgotten", "job", job.number, "name", job.name, "bytes",
                                 job.bytes, "dry_run", dry_run));
      return;
    case OutputForm::kHuman:
      break;
  }
  std::string what = fmt::format("{} job {} ({})", dry_run ? "would remove" : "removed", job.number,
                                 FormatSize(job.bytes));
  call.Write(
      present::CutToWidth(fmt::format("{}  {}", what, EscapeForScreen(job.name)), call.width()) +
      '\n');
}

Result<int> ForgetRuns(HistoryCall& call) {
  const Words& words = call.words();
  auto age = TRY(AgeOf(words));
  if (words.words.empty() && !age) {
    return Fail(ErrorKind::kInvalid,
                "name the jobs to remove: spate job forget 3, 1-10 or all, or --older-than 30d");
  }
  auto numbers = PickRuns(call, words.words);
  bool by_name = !words.words.empty() && !ChoosesAll(words) && !age;
  if (!numbers && !by_name && numbers.error().kind == ErrorKind::kNotFound) {
    if (call.human()) call.Report(numbers.error());
    return kExitSuccess;
  }
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  auto chosen = TRY(Choose(call, *numbers, age, by_name));
  bool dry_run = words.Has(opt::kDryRun);
  int code = kExitSuccess;
  for (const Candidate& job : chosen) {
    Status forgotten;
    if (!dry_run) forgotten = store::ForgetJob(call.state_dir(), job.number);
    if (forgotten) {
      Tell(call, job, dry_run);
    } else {
      call.Report(forgotten.error());
      code = ExitCodeOf(forgotten.error().kind);
    }
  }
  if (!dry_run) store::SweepForgotten(call.state_dir());
  if (chosen.empty() && call.human()) call.Report("no jobs to remove");
  return code;
}

}  // namespace
extern const Command kJobForget = {
    .order = 100,
    .group = CommandGroup::kHistory,
    .name = "job forget",
    .arguments = "JOB...",
    .completes = Completes::kJobs,
    .summary = "remove jobs from the history",
    .details =
        "JOB is a number, a range (1-10, 1-10:2), a list of these (1,3,5-8), last or all. Naming a "
        "running job is an error; all and --older-than leave running jobs out.",
    .examples = {{{"spate job forget 12", "one job and its output"},
                  {"spate job forget 1-10,15", "several"},
                  {"spate job forget --older-than 30d", "all that ended earlier"}}},
    .words_min = 0,
    .options = {{opt::kDryRun, opt::kAboutJobs, kOlderThan}},
    .run =
        [](const Invocation& invocation) {
          return invocation.wiring->world->MeansHub(invocation.words)
                     ? AskHub(invocation, ForgetJobs)
                     : LookHere(invocation, ForgetRuns);
        },
};

}  // namespace spate::cli::command
