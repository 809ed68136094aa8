// Every job is checked on its own, as damage in one touches no other. All of a job's files are
// read; nothing is changed. Exit code 1: damage was found.
#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/job_text.h"
#include "command/state/runs.h"
#include "present/json/json_fields.h"
#include "present/table/page.h"
#include "present/table/text_width.h"
#include "present/text/end_text.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/state_check.h"
#include "store/sqlite/state_folder.h"

namespace spate::cli::command {
namespace {

using store::CheckReport;

class Examiner {
 public:
  explicit Examiner(HistoryCall& call) : call_(call) {}

  Status Examine(uint32_t number);
  // Checks a hub that has its folder here. `must`: a missing one is an error.
  Status ExamineHub(bool must);
  void PrintSum() const;
  // kExitCouldNotRun: what a newer release has written is not known to this one.
  int exit_code() const {
    if (damaged_ > 0 || !hub_sound_) return kExitTasksFailed;
    return newer_ ? kExitCouldNotRun : kExitSuccess;
  }

 private:
  void PrintLines(uint32_t number, const std::string& path, const CheckReport& report);
  void PrintJson(uint32_t number, const std::string& path, const CheckReport& report);
  void PrintRemedy(uint32_t number, present::Page& page);
  void PrintHubLines(const store::HubCheck& check, const std::string& dir);
  void PrintHubJson(const store::HubCheck& check, const std::string& dir);

  HistoryCall& call_;
  bool hub_sound_ = true;
  bool newer_ = false;
  uint32_t checked_ = 0;
  uint32_t damaged_ = 0;
};

// Advice for people: the work of a damaged job can be run again, if its row can still be read.
void Examiner::PrintRemedy(uint32_t number, present::Page& page) {
  page.Field("what to do",
             "other jobs are not affected. If you want to examine the folder (sqlite3 reads "
             "job.db), keep a copy. Run the job's work again, then remove the job");
  auto summary = store::SummarizeJob(call_.state_dir(), number);
  if (summary && !summary->row.argv.empty()) {
    JobFacts job;
    job.argv = summary->row.argv;
    page.Command("to run", fmt::format("cd {} && {}", ShellQuote(summary->row.cwd),
                                       CommandLineOf(job, /*on_hub=*/false)));
  }
  page.Command("to remove", fmt::format("spate job forget{} {}", call_.StateOption(), number));
}

void Examiner::PrintLines(uint32_t number, const std::string& path, const CheckReport& report) {
  if (report.sound()) {
    call_.Write(present::CutToWidth(fmt::format("job {}: undamaged ({}, {}, {} of output)", number,
                                                present::CountOf(report.rows, "task"),
                                                present::CountOf(report.attempts, "attempt"),
                                                FormatSize(report.output_bytes)),
                                    call_.width()) +
                '\n');
    return;
  }
  present::Page page(call_.width(), [&](std::string_view text) { call_.Write(text); });
  page.Title(fmt::format("job {}: DAMAGED", number));
  for (size_t i = 0; i < report.problems.size(); ++i) {
    page.Field(i == 0 ? "problems" : "", report.problems[i]);
  }
  if (report.more_problems > 0) {
    page.Field("", fmt::format("and {} more", FormatCount(report.more_problems)));
  }
  page.Field("folder", path);
  PrintRemedy(number, page);
}

void Examiner::PrintJson(uint32_t number, const std::string& path, const CheckReport& report) {
  call_.Write(present::JsonOf("check", "job", number, "path", path, "sound", report.sound(),
                              "problems", report.problems, "more_problems", report.more_problems,
                              "tasks", report.rows, "attempts", report.attempts, "log_records",
                              report.log_records, "output_bytes", report.output_bytes, "bytes",
                              store::FolderBytes(path)));
}

Status Examiner::Examine(uint32_t number) {
  auto report = store::CheckJob(call_.state_dir(), number);
  // A folder without a journal is that of a job which was never accepted.
  if (!report && report.error().kind == ErrorKind::kNotFound) return {};
  if (!report && report.error().kind == ErrorKind::kNewer) {
    newer_ = true;
    call_.Report(fmt::format("job {} was not checked: {}", number, report.error().message));
    return call_.Flush();
  }
  if (!report) return std::unexpected(std::move(report.error()));
  ++checked_;
  if (!report->sound()) ++damaged_;
  std::string path = store::JobPath(call_.state_dir(), number);
  switch (call_.form()) {
    case OutputForm::kHuman:
      PrintLines(number, path, *report);
      break;
    case OutputForm::kJson:
      PrintJson(number, path, *report);
      break;
    case OutputForm::kQuiet:
      if (!report->sound()) call_.Write(fmt::format("{}\n", number));
      break;
  }
  // One job may take minutes: what is known is shown.
  return call_.Flush();
}

void Examiner::PrintHubLines(const store::HubCheck& check, const std::string& dir) {
  if (check.sound()) {
    call_.Write(present::CutToWidth(fmt::format("hub: undamaged ({}, {}, {})",
                                                present::CountOf(check.job_count, "job"),
                                                present::CountOf(check.all.rows, "task"),
                                                present::CountOf(check.all.attempts, "attempt")),
                                    call_.width()) +
                '\n');
    return;
  }
  present::Page page(call_.width(), [&](std::string_view text) { call_.Write(text); });
  page.Title("hub: DAMAGED");
  for (const std::string& problem : check.all.problems) page.Field("", problem);
  if (check.all.more_problems > 0) {
    page.Field("", fmt::format("and {} more", FormatCount(check.all.more_problems)));
  }
  for (const auto& [job, problems] : check.jobs) {
    for (const std::string& problem : problems) page.Field(fmt::format("job {}", job), problem);
  }
  for (const std::string& problem : check.pools) page.Field("pools", problem);
  for (const std::string& problem : check.outputs) page.Field("output", problem);
  page.Field("folder", dir);
  if (check.journal_sound()) return;
  page.Field("what to do",
             "jobs that are not named here are undamaged, and run. To continue with the undamaged "
             "parts of the others, stop the hub and salvage its journal");
  page.Command("to salvage", fmt::format("spate state salvage{}", call_.StateOption()));
}

void Examiner::PrintHubJson(const store::HubCheck& check, const std::string& dir) {
  std::vector<uint32_t> numbers;
  std::vector<std::string> of_jobs;
  for (const auto& [job, problems] : check.jobs) {
    numbers.push_back(job);
    of_jobs.insert(of_jobs.end(), problems.begin(), problems.end());
  }
  call_.Write(present::JsonOf("hub_check", "path", dir, "sound", check.sound(), "problems",
                              check.all.problems, "damaged_jobs", numbers, "job_problems", of_jobs,
                              "pool_problems", check.pools, "output_problems", check.outputs,
                              "jobs", check.job_count, "tasks", check.all.rows, "attempts",
                              check.all.attempts));
}

Status Examiner::ExamineHub(bool must) {
  std::string dir = HubDir(call_);
  auto check = store::CheckHub(dir);
  if (!check && check.error().kind == ErrorKind::kNotFound && !must) return {};
  if (!check) return std::unexpected(std::move(check.error()));
  hub_sound_ = check->sound();
  switch (call_.form()) {
    case OutputForm::kHuman:
      PrintHubLines(*check, dir);
      break;
    case OutputForm::kJson:
      PrintHubJson(*check, dir);
      break;
    case OutputForm::kQuiet:
      if (!hub_sound_) call_.Write("hub\n");
      break;
  }
  return call_.Flush();
}

void Examiner::PrintSum() const {
  if (!call_.human() || (checked_ == 0 && damaged_ == 0)) return;
  std::string sum = present::CountOf(checked_, "job");
  call_.Report(damaged_ == 0 ? sum + ": no damage was found"
                             : fmt::format("{}: {} damaged", sum, FormatCount(damaged_)));
}

Result<int> StateCheck(HistoryCall& call) {
  auto words = call.words().words;
  bool hub = std::erase(words, "hub") > 0;
  bool all = words.empty() && !hub;
  Examiner examiner(call);
  if (hub || all) {
    TRY(examiner.ExamineHub(hub));
    if (hub && words.empty()) return examiner.exit_code();
  }
  auto numbers = PickRuns(call, words);
  if (!numbers && all && numbers.error().kind == ErrorKind::kNotFound) {
    if (call.human()) call.Report(numbers.error());
    return examiner.exit_code();
  }
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  for (uint32_t number : *numbers) {
    TRY(examiner.Examine(number));
  }
  examiner.PrintSum();
  return examiner.exit_code();
}

}  // namespace

extern const Command kStateCheck = {
    .order = 150,
    .group = CommandGroup::kHistory,
    .name = "state check",
    .arguments = "[JOB... | hub]",
    .completes = Completes::kJobs,
    .summary = "check the stored state for damage (default: all of it)",
    .details =
        "Checks the runs of this machine, and the journal of a hub whose folder is on this "
        "machine. Changes nothing. Names every damaged file and what to do. The exit code is 1 if "
        "damage was found.",
    .examples = {{{"spate state check", "all runs, and the hub's journal"},
                  {"spate state check 12", "one run"},
                  {"spate state check hub", "the hub's journal"}}},
    .options = {{opt::kAboutHere}},
    .run = LookHere<StateCheck>,
};

}  // namespace spate::cli::command
