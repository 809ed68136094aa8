#include "doors/parasol/formats/batch_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace spate::parasol {
namespace {

constexpr double kMinute = 60, kHour = 3600, kDay = 86400, kYear = 365 * kDay;

// Has failed for good: to be run again, and no try is left.
bool HasFailed(const ParasolJob& job, uint64_t tries) {
  return !job.submissions.empty() && NeedsRerun(job.submissions.front()) &&
         job.submissions.size() >= tries;
}

// Seconds, minutes, hours and days, and for large sums years.
void AddTimes(std::string* out, std::string_view label, double seconds, bool years = false) {
  *out += fmt::format("{:<27} {:9}s {:10.2f}m {:8.2f}h {:7.2f}d", label, std::llround(seconds),
                      seconds / kMinute, seconds / kHour, seconds / kDay);
  if (years) *out += fmt::format(" {:6.3f} y", seconds / kYear);
  *out += '\n';
}

std::string_view StateName(const ParasolSubmission& submission) {
  if (submission.tracking_error != 0) return "track";
  if (submission.in_queue) return "queue";
  if (submission.hung) return "hung";
  if (submission.running) return "run";
  if (submission.crashed) return "crash";
  if (submission.ran_ok) return "done";
  return "unsub";
}

}  // namespace

std::string SickNodesTotalText(std::span<const SickNode> nodes) {
  uint64_t failures = 0;
  for (const SickNode& node : nodes) failures += node.failures;
  return fmt::format("total sick machines: {} failures: {}\n", nodes.size(), failures);
}

std::string SickNodesText(std::span<const SickNode> nodes) {
  std::string text;
  for (const SickNode& node : nodes) text += fmt::format("{} {}\n", node.host, node.failures);
  return text + SickNodesTotalText(nodes);
}

BatchCounts CountJobs(std::span<const ParasolJob> jobs, uint64_t tries) {
  BatchCounts counts{.jobs = jobs.size()};
  for (const ParasolJob& job : jobs) {
    if (job.submissions.empty()) {
      ++counts.unsubmitted;
      continue;
    }
    const ParasolSubmission& newest = job.submissions.front();
    counts.submission_errors += newest.submit_error;
    counts.queue_errors += newest.queue_error;
    counts.tracking_errors += newest.tracking_error != 0;
    counts.queued += newest.in_queue;
    counts.crashed += newest.crashed;
    counts.slow += newest.slow;
    counts.hung += newest.hung;
    counts.running += newest.running;
    counts.ran_ok += newest.ran_ok;
    counts.failed += HasFailed(job, tries);
    counts.other += !(newest.in_queue || newest.crashed || newest.running || newest.ran_ok);
  }
  return counts;
}

std::string CheckText(const CheckReport& report) {
  const BatchCounts& counts = report.counts;
  std::string text;
  auto add = [&](std::string_view label, uint64_t count) {
    if (count > 0) text += fmt::format("{}: {}\n", label, count);
  };
  add("unsubmitted jobs", counts.unsubmitted);
  add("submission errors", counts.submission_errors);
  add("queue errors", counts.queue_errors);
  if (counts.tracking_errors > 0 && report.missing_results) {
    text += fmt::format("{}: file not found.  paraHub can't write to this dir?\n",
                        *report.missing_results);
  } else {
    add("tracking errors", counts.tracking_errors);
  }
  add("queued and waiting", counts.queued);
  add("crashed", counts.crashed);
  add(fmt::format("slow (> {} minutes)", report.warn_minutes), counts.slow);
  add(fmt::format("hung (> {} minutes)", report.kill_minutes), counts.hung);
  add("running", counts.running);
  add("ranOk", counts.ran_ok);
  add(fmt::format("failed {} times", report.tries), counts.failed);
  text += fmt::format("total jobs in batch: {}\n", counts.jobs);
  if (!report.sick.empty()) text += SickNodesTotalText(report.sick);
  return text;
}

BatchTimes SumTimes(std::span<const ParasolJob> jobs, int64_t now) {
  BatchTimes times{.counts = CountJobs(jobs, std::numeric_limits<uint64_t>::max())};
  // A job that was ended because it ran for too long counts as crashed here.
  times.counts.crashed += times.counts.hung;
  times.counts.other -= times.counts.hung;
  double wall = 0;
  int64_t first = now, last = 0;
  for (const ParasolJob& job : jobs) {
    if (job.submissions.empty()) continue;
    first = std::min(first, job.submissions.back().submitted);
    const ParasolSubmission& newest = job.submissions.front();
    if (newest.running) {
      double so_far = static_cast<double>(std::max<int64_t>(now - newest.started, 0));
      times.running += so_far;
      times.longest_running = std::max(times.longest_running, so_far);
    } else if (newest.ran_ok) {
      double took = static_cast<double>(newest.ended - newest.started);
      wall += took;
      times.cpu += newest.cpu_seconds;
      times.longest_finished = std::max(times.longest_finished, took);
      last = std::max(last, newest.ended);
    }
  }
  times.wait = std::max(0.0, wall - times.cpu);
  if (times.counts.ran_ok == 0) return times;
  times.average = wall / static_cast<double>(times.counts.ran_ok);
  times.submission_to_last = static_cast<double>(last - first);
  if (times.counts.running > 0) {
    times.estimate = static_cast<double>(jobs.size() - times.counts.ran_ok) /
                     static_cast<double>(times.counts.running) * times.average;
  }
  return times;
}

std::string TimesText(const BatchTimes& times) {
  const BatchCounts& counts = times.counts;
  std::string text = fmt::format("Completed: {} of {} jobs\n", counts.ran_ok, counts.jobs);
  auto add = [&](std::string_view label, uint64_t count) {
    if (count > 0) text += fmt::format("{}: {} jobs\n", label, count);
  };
  if (counts.running > 0) text += fmt::format("Jobs currently running: {}\n", counts.running);
  add("Crashed", counts.crashed);
  add("Other count", counts.other);
  add("In queue waiting", counts.queued);
  AddTimes(&text, "CPU time in finished jobs:", times.cpu, true);
  AddTimes(&text, "IO & Wait Time:", times.wait, true);
  if (counts.running > 0) AddTimes(&text, "Time in running jobs:", times.running, true);
  if (counts.ran_ok == 0) return text;
  AddTimes(&text, "Average job time:", times.average);
  if (counts.running > 0) AddTimes(&text, "Longest running job:", times.longest_running);
  AddTimes(&text, "Longest finished job:", times.longest_finished);
  AddTimes(&text, "Submission to last job:", times.submission_to_last);
  AddTimes(&text, "Estimated complete:", times.estimate);
  return text;
}

std::string_view ProblemOf(const ParasolSubmission& submission) {
  if (submission.crashed) return "crash";
  if (submission.hung) return "hung";
  if (submission.slow) return "slow";
  return submission.tracking_error != 0 ? "tracking error" : "";
}

std::string ProblemText(const ParasolJob& job, const ParasolSubmission& submission,
                        std::span<const std::string> messages, std::string_view stderr_text,
                        const LocalTime& local) {
  std::string_view problem = ProblemOf(submission);
  std::string text =
      fmt::format("job: {}\nid: {}\nfailure type: {}\n", job.command, submission.id, problem);
  if (problem == "crash") {
    int signal = submission.status & 0x7f;
    text += fmt::format("host: {}\nstart time: {}\nreturn: {}{}\n", submission.host,
                        CtimeText(local(submission.started)), signal == 0 ? "" : "signal ",
                        signal == 0 ? submission.status >> 8 & 0xff : signal);
    for (const std::string& message : messages) text += message + "\n";
    text += fmt::format("stderr:\n{}", stderr_text);
    if (!text.ends_with('\n')) text += '\n';
  }
  return text + "\n";
}

std::string ProblemsTotalText(uint64_t problems) {
  return fmt::format("{} problems total\n", problems);
}

// The rule of Parasol's para.c (paraJobStatus): the state is that of the newest submission, all
// else is of the first one; running jobs have no id and no CPU time yet.
std::string StatusText(std::span<const ParasolJob> jobs, int64_t now) {
  std::string text = "#state\ttries\treal\tcpu\thost\tjobid\tcmd\n";
  for (const ParasolJob& job : jobs) {
    ParasolSubmission newest, shown;
    if (!job.submissions.empty()) {
      newest = job.submissions.front();
      shown = job.submissions.back();
    }
    const bool runs = newest.running;
    const int64_t until = runs ? now : shown.ended;
    std::string command = job.command;
    std::ranges::replace(command, '\t', ' ');
    text += fmt::format("{}\t{}\t{:.2f}\t{:.2f}\t{}\t{}\t{}\n",
                        shown.tracking_error != 0 ? StateName(shown) : StateName(newest),
                        job.submissions.size(),
                        static_cast<double>(std::max<int64_t>(until - shown.started, 0)),
                        runs ? 0.0 : shown.cpu_seconds, shown.host, runs ? "" : shown.id, command);
  }
  return text;
}

std::string RunningText(std::span<const ParasolJob> jobs, int64_t now,
                        std::optional<int64_t> longer_than, int64_t warn_minutes,
                        const LocalTime& local) {
  std::string text;
  uint64_t count = 0;
  for (const ParasolJob& job : jobs) {
    if (job.submissions.empty() || !job.submissions.front().running) continue;
    const ParasolSubmission& newest = job.submissions.front();
    int64_t seconds = std::max<int64_t>(now - newest.started, 0);
    if (longer_than && seconds <= *longer_than * 60) continue;
    ++count;
    double so_far = static_cast<double>(seconds);
    text += fmt::format("command: {}\njobId: {}\nhost: {}\nstart time: {}\n", job.command,
                        newest.id, newest.host, CtimeText(local(newest.started)));
    text += fmt::format("run time so far: {} sec,  {:4.2f} min, {:4.2f} hours,  {:4.2f} days\n",
                        seconds, so_far / kMinute, so_far / kHour, so_far / kDay);
    if (newest.slow) {
      text += fmt::format("This is a slow job, running time > {} minutes.\n", warn_minutes);
    }
    text += '\n';
  }
  return text + fmt::format("total {} running: {}\n", longer_than ? "hippos" : "jobs", count);
}

std::string JobLinesText(std::span<const ParasolJob> jobs, JobsListed which, uint64_t tries) {
  auto listed = [&](const ParasolJob& job) {
    if (job.submissions.empty()) return false;
    switch (which) {
      case JobsListed::kFinished:
        return job.submissions.front().ran_ok;
      case JobsListed::kHung:
        return job.submissions.front().hung;
      case JobsListed::kCrashed:
        return job.submissions.front().crashed;
      case JobsListed::kFailed:
        return HasFailed(job, tries);
    }
    return false;
  };
  std::string text;
  for (const ParasolJob& job : jobs) {
    if (listed(job)) text += job.spec + "\n";
  }
  return text;
}

}  // namespace spate::parasol
