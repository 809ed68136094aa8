// Every job is checked on its own, as damage in one touches no other. All of a job's files are
// read; nothing is changed. Exit code 1: damage was found.
#include "cli/state/state_handler.h"

#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/job_text.h"
#include "cli/state/runs.h"
#include "cli/table/page.h"
#include "cli/table/text_width.h"
#include "cli/text/end_text.h"
#include "history/state_size.h"
#include "os/file.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/state_check.h"

namespace spate::cli {
namespace {

using store::CheckReport;

class Examiner {
 public:
  explicit Examiner(HistoryCall& call) : call_(call) {}

  Status Examine(uint32_t number);
  // Of a hub that has its folder here. `must`: it is an error when there is none.
  Status ExamineHub(bool must);
  void PrintSum() const;
  bool sound() const { return damaged_ == 0 && hub_sound_; }

 private:
  void PrintLines(uint32_t number, const std::string& path, const CheckReport& report);
  void PrintJson(uint32_t number, const std::string& path, const CheckReport& report);
  void PrintRemedy(uint32_t number, Page& page);
  void PrintHubLines(const store::HubCheck& check, const std::string& dir);
  void PrintHubJson(const store::HubCheck& check, const std::string& dir);

  HistoryCall& call_;
  bool hub_sound_ = true;
  uint32_t checked_ = 0;
  uint32_t damaged_ = 0;
};

// What a person can do: the work of a damaged job can be run anew, if its row can still be read.
void Examiner::PrintRemedy(uint32_t number, Page& page) {
  page.Field("what to do",
             "other jobs are not touched by this. Keep a copy of the folder if you want to look "
             "into it (sqlite3 reads job.db), run the job's work anew, then remove it");
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
    call_.Put(
        CutToWidth(fmt::format("job {}: sound ({}, {}, {} of output)", number,
                               CountOf(report.rows, "task"), CountOf(report.attempts, "attempt"),
                               FormatSize(report.output_bytes)),
                   call_.width()) +
        '\n');
    return;
  }
  Page page(call_.width(), [&](std::string_view text) { call_.Put(text); });
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
  JsonLine line = TypedLine("check");
  line.Number("job", number);
  TextOrBase64(line, "path", path);
  line.Flag("sound", report.sound());
  TextsOrBase64(line, "problems", report.problems);
  line.Number("more_problems", static_cast<int64_t>(report.more_problems));
  line.Number("tasks", static_cast<int64_t>(report.rows));
  line.Number("attempts", static_cast<int64_t>(report.attempts));
  line.Number("log_records", static_cast<int64_t>(report.log_records));
  line.Number("output_bytes", static_cast<int64_t>(report.output_bytes));
  line.Number("bytes", static_cast<int64_t>(history::FolderBytes(path)));
  call_.Put(line);
}

Status Examiner::Examine(uint32_t number) {
  auto report = store::CheckJob(call_.state_dir(), number);
  // A folder without a journal is that of a job which was never accepted.
  if (!report && report.error().kind == ErrorKind::kNotFound) return {};
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
      if (!report->sound()) call_.Put(fmt::format("{}\n", number));
      break;
  }
  // One job may take minutes: what is known is shown.
  return call_.Flush();
}

std::string HubDir(const HistoryCall& call) { return os::JoinPath(call.state_dir(), "hub"); }

void Examiner::PrintHubLines(const store::HubCheck& check, const std::string& dir) {
  if (check.sound()) {
    call_.Put(CutToWidth(fmt::format("hub: sound ({}, {}, {})", CountOf(check.job_count, "job"),
                                     CountOf(check.all.rows, "task"),
                                     CountOf(check.all.attempts, "attempt")),
                         call_.width()) +
              '\n');
    return;
  }
  Page page(call_.width(), [&](std::string_view text) { call_.Put(text); });
  page.Title("hub: DAMAGED");
  for (const std::string& problem : check.all.problems) page.Field("", problem);
  if (check.all.more_problems > 0) {
    page.Field("", fmt::format("and {} more", FormatCount(check.all.more_problems)));
  }
  for (const auto& [job, problems] : check.jobs) {
    for (const std::string& problem : problems) page.Field(fmt::format("job {}", job), problem);
  }
  for (const std::string& problem : check.pools) page.Field("pools", problem);
  page.Field("folder", dir);
  page.Field("what to do",
             "jobs that are not named here are whole, and run. To go on with what is sound of the "
             "others, stop the hub, and let it be written anew");
  page.Command("to save", fmt::format("spate state salvage{}", call_.StateOption()));
}

void Examiner::PrintHubJson(const store::HubCheck& check, const std::string& dir) {
  JsonLine line = TypedLine("hub_check");
  TextOrBase64(line, "path", dir);
  line.Flag("sound", check.sound());
  TextsOrBase64(line, "problems", check.all.problems);
  std::string jobs;
  std::vector<std::string> of_jobs;
  for (const auto& [job, problems] : check.jobs) {
    jobs += fmt::format("{}{}", jobs.empty() ? "" : ",", job);
    of_jobs.insert(of_jobs.end(), problems.begin(), problems.end());
  }
  line.Raw("damaged_jobs", "[" + jobs + "]");
  TextsOrBase64(line, "job_problems", of_jobs);
  TextsOrBase64(line, "pool_problems", check.pools);
  line.Number("jobs", static_cast<int64_t>(check.job_count));
  line.Number("tasks", static_cast<int64_t>(check.all.rows));
  line.Number("attempts", static_cast<int64_t>(check.all.attempts));
  call_.Put(line);
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
      if (!hub_sound_) call_.Put("hub\n");
      break;
  }
  return call_.Flush();
}

void Examiner::PrintSum() const {
  if (!call_.human() || (checked_ == 0 && damaged_ == 0)) return;
  std::string sum = CountOf(checked_, "job");
  call_.Say(damaged_ == 0 ? sum + ": no damage was found"
                          : fmt::format("{}: {} damaged", sum, FormatCount(damaged_)));
}

Result<int> StateCheck(HistoryCall& call) {
  auto words = call.words().words;
  bool hub = std::erase(words, "hub") > 0;
  bool all = words.empty() && !hub;
  Examiner examiner(call);
  if (hub || all) {
    if (auto examined = examiner.ExamineHub(hub); !examined) {
      return std::unexpected(std::move(examined.error()));
    }
    if (hub && words.empty()) return examiner.sound() ? kExitSuccess : kExitTasksFailed;
  }
  auto numbers = PickRuns(call, words);
  if (!numbers && all && numbers.error().kind == ErrorKind::kNotFound) {
    if (call.human()) call.Say(numbers.error().message);
    return examiner.sound() ? kExitSuccess : kExitTasksFailed;
  }
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  for (uint32_t number : *numbers) {
    if (auto examined = examiner.Examine(number); !examined) {
      return std::unexpected(std::move(examined.error()));
    }
  }
  examiner.PrintSum();
  return examiner.sound() ? kExitSuccess : kExitTasksFailed;
}

// `whose`: what makes commands mean jobs of that hub.
std::string SavedText(const store::SalvageReport::Job& job, const std::string& whose) {
  if (job.lost) return fmt::format("job {}: LOST: not even what it was can be read", job.number);
  return fmt::format(
      "job {}: {}: the ends of {} kept, {} cancelled, {} not done{}", job.number,
      CountOf(job.tasks, "task"), FormatCount(job.ended), FormatCount(job.cancelled),
      FormatCount(job.waiting),
      job.waiting > 0 ? fmt::format(" (spate job release{} {})", whose, job.number) : "");
}

Result<int> StateSalvage(HistoryCall& call) {
  std::string dir = HubDir(call);
  auto report = store::Salvage(dir);
  if (!report) return std::unexpected(std::move(report.error()));
  if (report->kept_as.empty()) {
    if (call.human()) call.Say("the hub's journal is sound: nothing was done");
    return kExitSuccess;
  }
  std::string whose = call.words().Last(Opt::kState) ? " --hub" + call.StateOption() : "";
  for (const store::SalvageReport::Job& job : report->jobs) {
    if (call.human()) {
      call.Put(SavedText(job, whose) + '\n');
    } else if (call.form() == OutputForm::kJson) {
      JsonLine line = TypedLine("salvaged");
      line.Number("job", job.number).Flag("lost", job.lost).Number("tasks", job.tasks);
      line.Number("ended", job.ended).Number("cancelled", job.cancelled);
      call.Put(line.Number("waiting", job.waiting));
    }
  }
  if (!call.human()) return kExitSuccess;
  if (report->pools_lost) call.Say("pools: LOST: add them again");
  call.Say(fmt::format("{} without damage {}; the damaged journal is kept as {}",
                       CountOf(report->sound_jobs, "job"),
                       report->sound_jobs == 1 ? "stays as it was" : "stay as they were",
                       EscapeForScreen(report->kept_as)));
  return kExitSuccess;
}

Result<int> HubBackup(HistoryCall& call) {
  os::SetUmask(0077);
  const std::string& file = call.words().words.front();
  if (auto done = store::BackUpHub(HubDir(call), file); !done) return std::unexpected(done.error());
  call.Say(
      fmt::format("the hub's journal and key are in {}: keep it secret; spate hub restore {} "
                  "makes a hub of it",
                  EscapeForScreen(file), ShellQuote(file)));
  return kExitSuccess;
}

Result<int> HubRestore(HistoryCall& call) {
  os::SetUmask(0077);
  std::string dir = HubDir(call);
  auto done = store::RestoreHub(call.words().words.front(), dir);
  if (!done) return std::unexpected(done.error());
  call.Say(
      fmt::format("the hub in {} is as it was then; start it as before, at the same address: "
                  "spate hub start{}",
                  EscapeForScreen(dir), call.StateOption()));
  return kExitSuccess;
}

auto CallOf(Command command) {
  switch (command) {
    case Command::kStateSalvage:
      return StateSalvage;
    case Command::kHubBackup:
      return HubBackup;
    case Command::kHubRestore:
      return HubRestore;
    case Command::kJobForget:
      return JobForget;
    default:
      return StateCheck;
  }
}

}  // namespace

Handler MakeStateHandler(HistoryEnvironment environment) {
  auto shared = std::make_shared<const HistoryEnvironment>(std::move(environment));
  return [shared](const Invocation& invocation) {
    return CallHistory(*shared, invocation, CallOf(invocation.words.command));
  };
}

}  // namespace spate::cli
