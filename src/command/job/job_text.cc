#include "command/job/job_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "present/json/json_fields.h"
#include "present/text/end_text.h"

namespace spate::cli {

present::Tone ToneOf(JobStanding standing) {
  switch (standing) {
    case JobStanding::kDamaged:
    case JobStanding::kFailed:
      return present::Tone::kBad;
    case JobStanding::kCancelled:
    case JobStanding::kStopped:
    case JobStanding::kInterrupted:
    case JobStanding::kNewer:
      return present::Tone::kDoubtful;
    default:
      return present::Tone::kPlain;
  }
}

JobFacts WithOutcome(JobFacts job) {
  job.state = job.outcome();
  return job;
}

std::string CommandLineOf(const JobFacts& job, bool on_hub, size_t values) {
  std::string text = on_hub ? "spate submit" : "spate run";
  size_t seen = 0;  // since the last ::: of any kind
  bool counts = false;
  auto tell_rest = [&] {
    if (counts && seen > values) {
      text += fmt::format(" (and {})", present::CountOf(seen - values, "more value"));
    }
  };
  for (const std::string& word : job.argv.value_or(std::vector<std::string>())) {
    bool begins = word == ":::" || word == ":::+" || word == "::::" || word == "::::+";
    if (begins) {
      tell_rest();
      counts = true;
      seen = 0;
    } else if (counts && ++seen > values) {
      continue;
    }
    text += ' ' + ShellQuote(word);
  }
  tell_rest();
  if (job.cut)
    text += " ... (truncated: the hub keeps 64 KB of a command and of the paths of lists)";
  return text;
}

std::string ResumeCommandOf(const HistoryCall& call, const JobFacts& job) {
  std::string cwd = job.cwd.value_or("");
  std::string text;
  if (call.environment().cwd != cwd) text += fmt::format("cd {} && ", ShellQuote(cwd));
  text += fmt::format("spate run --resume{}", call.StateOption());
  for (const std::string& file : job.files.value_or(std::vector<std::string>())) {
    // A file below the folder is shown as short as it was typed.
    bool below = cwd.size() > 1 && file.starts_with(cwd + '/');
    text += ' ' + ShellQuote(below ? file.substr(cwd.size() + 1) : file);
  }
  return text;
}

std::string RetryCommandOf(const HistoryCall& call, std::string_view selector) {
  return fmt::format("spate job retry{} {}", call.StateOption(), selector);
}

std::string TaskNumbersText(const std::vector<TaskRange>& tasks, uint64_t count, size_t most) {
  std::string text;
  size_t parts = 0;
  uint64_t told = 0;
  for (TaskRange range : tasks) {
    if (parts++ == most) break;
    uint64_t first = uint64_t{range.first} + 1;
    uint64_t last = first + range.count - 1;
    text += text.empty() ? "" : ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    told += range.count;
  }
  if (told < count) text += fmt::format(" and {} more", FormatCount(count - told));
  return text;
}

std::string NeedsText(const Needs& needs) {
  std::string text = fmt::format("{:g} cpu{}", needs.milli_cpus / 1000.0,
                                 needs.milli_cpus == kMilliCpu ? "" : "s");
  if (needs.memory > 0) text += fmt::format(", {} of memory", FormatSize(needs.memory));
  for (const NamedNeed& named : needs.named) {
    text += fmt::format(", {} of '{}'", named.count, named.name);
  }
  return text;
}

std::string GangText(const GangShape& gang) {
  if (gang.empty()) return "";
  std::string text = gang.procs == 1 ? "1 process" : FormatCount(gang.procs) + " processes";
  if (gang.nodes > 0) text += " on " + present::CountOf(gang.nodes, "node");
  if (gang.whole)
    text += gang.nodes == 1 ? ", which runs nothing else" : ", which run nothing else";
  if (gang.start == GangShape::Start::kNode) text += ", started once on each node";
  if (gang.start == GangShape::Start::kFirst) text += ", started on the first node";
  return text;
}

void AddClassFields(present::JsonLine& line, const TaskClass& tasks) {
  using present::OrNull;
  present::AddFields(line, "gang", OrNull(!tasks.gang.empty(), tasks.gang), "deadline",
                     tasks.deadline, "bound",
                     OrNull(tasks.bound != BoundBy::kUnknown, tasks.bound));
}

}  // namespace spate::cli
