#include "doors/parasol/programs/para_report.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "doors/parasol/formats/batch_report.h"
#include "doors/parasol/formats/job_list.h"
#include "doors/parasol/programs/para_talk.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

constexpr size_t kStderrMost = size_t{256} << 20;

Result<int> Print(std::string_view text) {
  TRY(ParaPrint(text));
  return 0;
}

const std::vector<ParasolJob>& Jobs(const ParaReport& report) {
  return report.cycle.batch().jobs();
}

Result<int> PrintLines(const ParaReport& report, JobsListed which) {
  return Print(JobLinesText(Jobs(report), which, report.options.tries));
}

Result<int> PrintRunning(const ParaReport& report, std::optional<int64_t> longer_than) {
  return Print(RunningText(Jobs(report), report.cycle.seconds(), longer_than,
                           report.options.warn_minutes, report.parts.local));
}

// From its copy in the batch's folder, which is made when it is not there.
std::string StderrOf(const ParaReport& report, const ParasolSubmission& submission) {
  std::string copy = report.folder.StderrOf(submission.id);
  if (auto text = os::ReadFile(copy, kStderrMost)) return *text;
  auto number = ParseCount(submission.id);
  auto text =
      number ? report.cycle.hub().FetchStderr(*number, submission.host)
             : Result<std::string>(Fail(ErrorKind::kNotFound, "it does not belong to this hub"));
  if (!text) return fmt::format("cannot fetch {}: {}\n", submission.err_file, text.error().message);
  // Without a copy it is fetched again the next time.
  (void)os::MakeDirs(os::DirName(copy));
  (void)os::WriteFileAtomically(copy, *text);
  return *text;
}

std::string ProblemOf(const ParaReport& report, const ParasolJob& job,
                      const ParasolSubmission& submission) {
  std::vector<std::string> messages;
  std::string text;
  if (submission.crashed) {
    for (CheckWhen when : {CheckWhen::kIn, CheckWhen::kOut}) {
      auto failed = FailedChecks(job.checks, when, report.parts.why_file_fails);
      messages.insert(messages.end(), failed.begin(), failed.end());
    }
    text = StderrOf(report, submission);
  }
  return ProblemText(job, submission, messages, text, report.parts.local);
}

}  // namespace

Result<int> ReportCheck(const ParaReport& report) {
  const BatchHub::State& state = report.cycle.state();
  CheckReport check{.counts = CountJobs(Jobs(report), report.options.tries),
                    .missing_results = std::nullopt,
                    .warn_minutes = report.options.warn_minutes,
                    .kill_minutes = report.options.kill_minutes,
                    .tries = report.options.tries,
                    .sick = state.sick_nodes};
  if (!os::Exists(report.folder.Results())) check.missing_results = report.folder.Results();
  auto printed = Print(CheckText(check));
  if (printed && state.sick) return Fail(ErrorKind::kBusy, std::string(kSickBatch));
  return printed;
}

Result<int> ReportFinished(const ParaReport& report) {
  return PrintLines(report, JobsListed::kFinished);
}
Result<int> ReportHung(const ParaReport& report) { return PrintLines(report, JobsListed::kHung); }
Result<int> ReportCrashed(const ParaReport& report) {
  return PrintLines(report, JobsListed::kCrashed);
}
Result<int> ReportFailed(const ParaReport& report) {
  return PrintLines(report, JobsListed::kFailed);
}

Result<int> ReportSlow(const ParaReport& report) {
  return PrintRunning(report, report.options.warn_minutes);
}
Result<int> ReportRunning(const ParaReport& report) { return PrintRunning(report, std::nullopt); }
Result<int> ReportHippos(const ParaReport& report) {
  std::string typed = report.options.words.size() > 1 ? report.options.words[1] : "0";
  auto minutes = ParseCount(typed);
  if (!minutes) {
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not a number of minutes", typed));
  }
  return PrintRunning(report, static_cast<int64_t>(*minutes));
}

Result<int> ReportProblems(const ParaReport& report) {
  uint64_t problems = 0;
  for (const ParasolJob& job : Jobs(report)) {
    for (const ParasolSubmission& submission : job.submissions) {
      if (ProblemOf(submission).empty()) continue;
      ++problems;
      auto printed = Print(ProblemOf(report, job, submission));
      if (!printed) return printed;
    }
  }
  return Print(ProblemsTotalText(problems));
}

Result<int> ReportStatus(const ParaReport& report) {
  return Print(StatusText(Jobs(report), report.cycle.seconds()));
}
Result<int> ReportTime(const ParaReport& report) {
  return Print(TimesText(SumTimes(Jobs(report), report.cycle.seconds())));
}

}  // namespace spate::parasol
