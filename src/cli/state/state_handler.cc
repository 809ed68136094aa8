// Every job is checked on its own, as damage in one touches no other. All of a job's files are
// read; nothing is changed. Exit code 1: damage was found.
#include "cli/state/state_handler.h"

#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/job_facts.h"
#include "cli/history/select.h"
#include "cli/history/state_size.h"
#include "cli/table/page.h"
#include "cli/table/text_width.h"
#include "cli/text/end_text.h"
#include "store/sqlite/state_check.h"

namespace spate::cli {
namespace {

using store::CheckReport;

class Examiner {
 public:
  explicit Examiner(HistoryCall& call) : call_(call) {}

  Status Examine(uint32_t number);
  void PrintSum() const;
  bool sound() const { return damaged_ == 0; }

 private:
  void PrintLines(uint32_t number, const std::string& path, const CheckReport& report);
  void PrintJson(uint32_t number, const std::string& path, const CheckReport& report);
  void PrintRemedy(uint32_t number, Page& page);

  HistoryCall& call_;
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
    page.Command("to run",
                 fmt::format("cd {} && {}", ShellQuote(summary->row.cwd), CommandLineOf(*summary)));
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
  line.Number("bytes", static_cast<int64_t>(FolderBytes(path)));
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

void Examiner::PrintSum() const {
  if (!call_.human()) return;
  std::string sum = CountOf(checked_, "job");
  call_.Say(damaged_ == 0 ? sum + ": no damage was found"
                          : fmt::format("{}: {} damaged", sum, FormatCount(damaged_)));
}

Result<int> StateCheck(HistoryCall& call) {
  const auto& words = call.words().words;
  auto numbers = words.empty() ? AllJobs(call) : PickJobs(call, words);
  if (!numbers && words.empty() && numbers.error().kind == ErrorKind::kNotFound) {
    if (call.human()) call.Say(numbers.error().message);
    return kExitSuccess;
  }
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  Examiner examiner(call);
  for (uint32_t number : *numbers) {
    if (auto examined = examiner.Examine(number); !examined) {
      return std::unexpected(std::move(examined.error()));
    }
  }
  examiner.PrintSum();
  return examiner.sound() ? kExitSuccess : kExitTasksFailed;
}

}  // namespace

Handler MakeStateHandler(HistoryEnvironment environment) {
  auto shared = std::make_shared<const HistoryEnvironment>(std::move(environment));
  return [shared](const Invocation& invocation) {
    return CallHistory(*shared, invocation, StateCheck);
  };
}

}  // namespace spate::cli
