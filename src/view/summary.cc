#include "view/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "present/text/end_text.h"

namespace spate::cli {

void RunTotals::Add(const AttemptEnd& end, engine::Verdict verdict) {
  cpu = cpu + end.user + end.system;
  peak_memory = std::max(peak_memory, end.peak_memory);
  switch (verdict) {
    case engine::Verdict::kSucceeded:
      ++succeeded;
      break;
    case engine::Verdict::kFailed:
      ++failed;
      break;
    case engine::Verdict::kUnknown:
      ++unknown;
      break;
    case engine::Verdict::kRetry:
      // One that was stopped is only not done: nothing says that it is tried again.
      if (end.cause != Cause::kStopped) ++tried_again;
      break;
    case engine::Verdict::kCancelled:
    case engine::Verdict::kPart:
      break;
  }
}

std::string SummaryLine(const RunTotals& totals, const JobCounts& counts, const JobCounts& before,
                        Duration elapsed, bool colour) {
  std::string line = present::CountOf(counts.total, "task") + ":";
  auto add = [&, first = true](uint64_t count, std::string_view what, bool always = false,
                               bool bad = false) mutable {
    if (count == 0 && !always) return;
    std::string_view begin = bad && colour ? "\x1b[31m" : "";
    std::string_view end = bad && colour ? "\x1b[0m" : "";
    line += fmt::format("{}{}{} {}{}", first ? " " : ", ", begin, FormatCount(count), what, end);
    first = false;
  };
  add(counts.succeeded, "succeeded", counts.failed + counts.unknown + counts.cancelled == 0);
  add(counts.failed, "failed", false, true);
  add(counts.unknown, "unknown", false, true);
  add(counts.cancelled, "cancelled");
  add(counts.queued + counts.leased, "not done");
  if (totals.tried_again > 0)
    line += fmt::format(", {}", present::CountOf(totals.tried_again, "further attempt"));
  const uint64_t ended = totals.ended();
  if (before.finished() > 0) line += fmt::format("; this run: {}", FormatCount(ended));
  line += fmt::format(" in {}", FormatDuration(elapsed));
  double seconds = elapsed.seconds();
  if (ended > 1 && seconds > 0) {
    std::string rate = present::BriefRate(static_cast<double>(ended) / seconds);
    if (rate.ends_with("/s")) {
      line += fmt::format(" ({} tasks/s)", rate.substr(0, rate.size() - 2));
    }
  }
  line += fmt::format(", {} CPU", FormatDuration(totals.cpu));
  if (totals.peak_memory > 0) line += fmt::format(", peak {}", FormatSize(totals.peak_memory));
  return line;
}

std::string WhoseOption(const HintContext& context) {
  if (context.on_hub) return context.reach;
  if (context.state_dir.empty()) return context.beside_hub ? " --local" : "";
  return fmt::format(" --state {}", ShellQuote(context.state_dir));
}

std::string RetryCommand(const HintContext& context) {
  return fmt::format("spate job retry{} {}", WhoseOption(context), context.job.value);
}

std::string AgainText(const HintContext& context, const std::string& cancelled) {
  if (cancelled.empty()) return "to run them again: " + RetryCommand(context);
  const std::string why = "cancelled: " + EscapeForScreen(cancelled);
  // A retry would be cancelled, too.
  if (cancelled.find(" deadline") != std::string::npos) {
    return why + "\nto run what was cancelled, submit it again with a later --deadline";
  }
  return why + "\nto run it anyway, without that condition: " + RetryCommand(context);
}

std::string EndedText(JobId job, const JobCounts& counts, const char* cancelled) {
  std::string text =
      fmt::format("spate: job {}: {} of {} succeeded", job.value, FormatCount(counts.succeeded),
                  present::CountOf(counts.total, "task"));
  for (auto [count, what] :
       {std::pair{counts.failed, "failed"},
        {counts.unknown, "unknown"},
        {counts.cancelled, cancelled},
        {counts.total - std::min(counts.total, counts.finished()), "not done"}}) {
    if (count > 0) text += fmt::format(", {} {}", FormatCount(count), what);
  }
  return text + "\n";
}

std::string RetryElsewhereCommand(const HintContext& context,
                                  const std::vector<BlamedFacts>& blamed) {
  std::string command = RetryCommand(context);
  for (const BlamedFacts& each : blamed) command += " --not-on " + ShellQuote(each.node);
  return command;
}

std::string BlameText(const HintContext& context, const JobCounts& counts,
                      const std::vector<BlamedFacts>& blamed) {
  if (blamed.empty()) return "";
  std::string text;
  for (const BlamedFacts& each : blamed) {
    text += fmt::format("{} of {} failed on {}, where none succeeded{}", FormatCount(each.failed),
                        present::CountOf(counts.total, "task"), EscapeForScreen(each.node),
                        &each == &blamed.back() ? ":  " : "\n");
  }
  return text + RetryElsewhereCommand(context, blamed) + "\n";
}

std::string FailedTasksCommand(const HintContext& context) {
  return fmt::format("spate job tasks{} {} --filter failed", WhoseOption(context),
                     context.job.value);
}

// Released or resumed with all its failures, --max-failures would hold it again at once.
std::string ReleaseCommand(const HintContext& context) {
  if (context.held == engine::HoldReason::kMaxFailures) return RetryCommand(context);
  return fmt::format("spate job release{} {}", WhoseOption(context), context.job.value);
}

bool DidAsAsked(const HaltRule& halt, engine::HoldReason held, const JobCounts& counts) {
  if (held == engine::HoldReason::kHaltRule) {
    if (halt.what == HaltRule::What::kSuccess) return true;
    if (halt.what == HaltRule::What::kDone) return counts.failed + counts.unknown == 0;
  }
  return counts.succeeded == counts.total;
}

int ExitCodeOfTask(const AttemptEnd& end) {
  constexpr int kMost = 255;
  const bool has_one = end.cause == Cause::kExit || end.cause == Cause::kStart;
  return has_one && end.status > 0 && end.status <= kMost ? end.status : 0;
}

std::string ResumeCommand(const HintContext& context) {
  // A run is local unless it says otherwise.
  std::string state = context.state_dir.empty() ? "" : WhoseOption(context);
  std::string command = fmt::format("spate run --resume{}", state);
  for (const std::string& file : context.files) command += " " + ShellQuote(file);
  return command;
}

std::string Hints(const HintContext& context, const JobCounts& counts, RunEnd how) {
  std::string text;
  uint32_t left = counts.queued + counts.leased;
  bool held = context.held != engine::HoldReason::kNone;
  bool too_many = context.held == engine::HoldReason::kMaxFailures;
  if (left > 0 && (context.on_hub ? held : too_many)) {
    text += fmt::format("to run the remaining tasks:  {}\n", ReleaseCommand(context));
  } else if (left > 0 && !context.on_hub) {
    text += fmt::format("to run the remaining tasks:  {}\n", ResumeCommand(context));
  }
  uint32_t failed = counts.failed + counts.unknown;
  // A job that goes on may still run them again.
  bool goes_on = context.on_hub && left > 0 && !held;
  bool said = left > 0 && too_many;
  if (failed > 0 && how != RunEnd::kOutputClosed && !goes_on && !said) {
    text += fmt::format("to retry the failed tasks:  {}\n", RetryCommand(context));
  }
  return text;
}

}  // namespace spate::cli
